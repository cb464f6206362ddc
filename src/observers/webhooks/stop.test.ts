// Stopping: endpoints that never answer neither keep the process nor make it forget what it tried.
// Waits more than it works.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aReceiver } from '../../platform/net/receiver.fixture.ts'

test('a worker that stops while hundreds of pushes hang ends in time and records each of them', async t => {
  const receiver = await aReceiver()
  receiver.answer = () => {}
  t.after(() => receiver.close())
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  const account = await anAccount({ box })
  for (let n = 0; n < 100; n++) await account.api.post('/v1/webhooks', { url: `${receiver.url}/${n}` })
  await box.app.world.db.transact(system('test'), async tx => {
    for (let n = 0; n < 20; n++) tx.record({ type: 'accepted', accountId: account.id })
  })
  await eventually('four pushes of each hang', async () => receiver.received.length === 400)

  const began = performance.now()
  await box.close()

  const tookMs = performance.now() - began
  assert.ok(tookMs < 15_000, `it took ${tookMs} ms`)
  const other = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  const attempts = await other.app.world.db.many(sql`
    select status, attempt, error, lease_token is not null as is_leased, count(*) from webhook_attempts
    group by 1, 2, 3, 4 order by 1`)
  const error = 'The service that pushed was stopped before the answer came.'
  assert.deepEqual(attempts, [
    { status: 'failed', attempt: 1, error, is_leased: false, count: 400 },
    { status: 'pending', attempt: 0, error: null, is_leased: false, count: 1_600 },
  ])
  assert.deepEqual(
    box.logLines.filter(line => line.includes('could not be recorded')),
    [],
  )
})
