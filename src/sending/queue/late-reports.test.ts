// Deliveries that reports are about: found and locked, and no others read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { isAnyBeingSent, listDeliveriesForUpdateAnywhere } from './late-reports.ts'
import { rowsRead } from './rows-read.fixture.ts'

test('a report reads the deliveries that it is about, each once, and no others', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const to = Array.from({ length: 600 }, (_, n) => `user${n}@example.com`)
  const sent = await account.api.post('/v1/messages', { tenant_id: account.tenant.id, from: 'a@b.test', to, text: 'x' })
  const id: string = sent.body.message_id
  await box.app.world.db.transact(system('test'), async tx => {
    const numbered = [17, 3, 17].map(n => ({ message_id: id, n }))
    const before = await rowsRead(tx, 'deliveries')
    const found = await listDeliveriesForUpdateAnywhere(tx, { numbered, addressed: [] })
    const read = (await rowsRead(tx, 'deliveries')) - before
    assert.deepEqual(
      found.map(({ n, recipient }) => [n, recipient]),
      [3, 17].map(n => [n, `user${n}@example.com`]),
    )
    assert.ok(read <= 4, `read ${read} deliveries of 600 for two`)
    const addressed = ['USER3@example.com', 'nobody@example.com'].map(recipient => ({ message_id: id, recipient }))
    const byAddress = await listDeliveriesForUpdateAnywhere(tx, { numbered: numbered.slice(0, 2), addressed })
    assert.deepEqual(
      byAddress.map(({ n }) => n),
      [3, 17],
    )
    assert.equal(await isAnyBeingSent(tx, found), false)
  })
})
