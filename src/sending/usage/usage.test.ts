// A tenant's usage, and the queue.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, aTenant } from '../../../test/support/factories.ts'

test('usage shows the running windows against their limits and a row for every day', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  box.clock.set(new Date('2026-03-31T10:20:30Z'))
  const account = await anAccount({ sandbox: true, tenants: 0, box })
  const tenant = await aTenant(account.api, { quota_daily: 10, rate_per_minute: 5 })
  const send = (count: number) =>
    account.api.post('/v1/messages', {
      tenant_id: tenant.id,
      from: 'a@acme.example',
      to: Array.from({ length: count }, (_, n) => `u${n}@example.com`),
      text: 'x',
    })
  await send(3)
  box.clock.set(new Date('2026-04-01T10:20:30Z'))
  await send(2)

  const { status, body } = await account.api.get(`/v1/tenants/${tenant.id}/usage?days=3`)

  assert.equal(status, 200)
  assert.deepEqual(body.day, { used: 2, limit: 10, remaining: 8, resets_at: '2026-04-02T00:00:00.000Z' })
  assert.deepEqual(body.minute, { used: 2, limit: 5, remaining: 3, resets_at: '2026-04-01T10:21:00.000Z' })
  assert.deepEqual(body.month, { used: 2, limit: null, remaining: null, resets_at: '2026-05-01T00:00:00.000Z' })
  assert.deepEqual(body.history, [
    { date: '2026-04-01', recipients: 2, messages: 1 },
    { date: '2026-03-31', recipients: 3, messages: 1 },
    { date: '2026-03-30', recipients: 0, messages: 0 },
  ])
  const { body: queue } = await account.api.get('/v1/queue')
  assert.match(queue.oldest_due_at, /^2026-03-31T10:20:3/)
  assert.deepEqual(
    { ...queue, oldest_due_at: null },
    { queued: 5, held: 0, sending: 0, deferred: 0, oldest_due_at: null },
  )
  assert.match((await box.client().get('/metrics')).body, /sluice_queue_deliveries\{status="queued"\} 5/)
})

test('the default history is 30 days, and days out of range answer 400', async () => {
  const { api, tenant } = await anAccount()
  assert.equal((await api.get(`/v1/tenants/${tenant.id}/usage`)).body.history.length, 30)
  for (const days of ['0', '401', 'x'])
    assert.equal((await api.get(`/v1/tenants/${tenant.id}/usage?days=${days}`)).status, 400)
})
