// Ranks of tenants: what is looked up of the queue and of the counters while a batch is ranked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, aTenant } from '../../../test/support/factories.ts'
import { rowsRead, rowsReadOnceLong } from '../queue/rows-read.fixture.ts'
import { advanceRanks, insertMissingCounters, listTenants, lockFreeTenants, lockTenants } from './queries.ts'

test('what is served next is found by its index, also by a statement that was planned while the queue was empty', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const { id } = account.tenant
  await account.api.post('/v1/messages', { tenant_id: id, from: 'a@b.test', to: ['c@d.test'], text: 'x' })
  const statements: Record<string, (tx: Tx) => Promise<unknown>> = {
    lock: tx => lockTenants(tx, [id]),
    lockFree: tx => lockFreeTenants(tx, [id]),
    list: tx => listTenants(tx, [id]),
    advance: tx => advanceRanks(tx, [{ tenantId: id, milliseconds: 1 }]),
  }
  for (const [name, run] of Object.entries(statements)) {
    const read = await rowsReadOnceLong(box.app.world.db, id, run)
    assert.ok(read <= 5, `${name} read ${read} rows of the queue`)
  }
})

test('ranks are advanced by the counters of the tenants that are named, whatever their number', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const account = await anAccount({ sandbox: true, box })
  const ids = [account.tenant.id]
  for (let n = 0; n < 40; n++) ids.push((await aTenant(account.api)).id)
  await box.app.world.db.transact(system('test'), tx => insertMissingCounters(tx, ids))
  await box.app.world.db.transact(system('test'), async tx => {
    const [first, second] = ids.toSorted().toReversed()
    const before = await rowsRead(tx, 'tenant_counters')
    const advanced = await advanceRanks(tx, [
      { tenantId: first!, milliseconds: 1 },
      { tenantId: second!, milliseconds: 2 },
    ])
    const read = (await rowsRead(tx, 'tenant_counters')) - before
    assert.deepEqual(new Set(advanced.map(row => row.tenant_id)), new Set([first, second]))
    assert.ok(read <= 4, `read ${read} counters of 41 for two`)
  })
})
