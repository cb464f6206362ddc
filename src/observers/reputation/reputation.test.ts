// GET /v1/reputation: rates over 24 hours, and the word for them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, aTenant } from '../../../test/support/factories.ts'
import { counted, happen, nothingBut, send, type Happening } from '../metrics/counted.fixture.ts'
import { lastDay } from '../metrics/last-day.ts'
import { healthOf, standingOf } from './health.ts'

const still = () => aBox({ environment: { ROLES: 'api' } })

test('each tenant has a row, and each of its domains; rates are fractions of the verdicts', async () => {
  const account = await anAccount({ sandbox: true, tenants: 0, box: await still() })
  const [quiet, busy] = [await aTenant(account.api), await aTenant(account.api)]
  await account.api.post(`/v1/tenants/${quiet.id}/domains`, { name: 'quiet.sluice.test' })
  await account.api.post(`/v1/tenants/${busy.id}/domains`, { name: 'b.sluice.test' })
  const about = async (from: string) => ({
    tenantId: busy.id,
    messageId: await send(account, { tenantId: busy.id, from }),
  })
  const [a, b] = [await about('x@a.example'), await about('x@b.sluice.test')]
  await happen(
    account,
    { type: 'delivered', ...a, times: 14 },
    { type: 'bounced', data: { bounce_type: 'hard' }, ...a, times: 2 },
    { type: 'bounced', data: { bounce_type: 'soft' }, ...a, times: 1 },
    { type: 'blocked', ...a, times: 3 },
    { type: 'deferred', ...a, times: 50 },
    { type: 'expired', ...a, times: 50 },
    { type: 'delivered', ...b, times: 20 },
    { type: 'complained', ...b, times: 1 },
  )
  await counted(account.box)

  const { status, body } = await account.api.get('/v1/reputation')

  const none = { recipients_24h: 0, bounce_rate: 0, block_rate: 0, complaint_rate: 0, health: 'ok' }
  assert.equal(status, 200)
  assert.deepEqual(body.rows, [
    {
      ...none,
      tenant_id: busy.id,
      domain: null,
      recipients_24h: 2,
      bounce_rate: 3 / 40,
      block_rate: 3 / 40,
      complaint_rate: 1 / 40,
    },
    { ...none, tenant_id: busy.id, domain: 'a.example', recipients_24h: 1, bounce_rate: 0.15, block_rate: 0.15 },
    { ...none, tenant_id: busy.id, domain: 'b.sluice.test', recipients_24h: 1, complaint_rate: 0.05 },
    { ...none, tenant_id: quiet.id, domain: null },
    { ...none, tenant_id: quiet.id, domain: 'quiet.sluice.test' },
  ])
  assert.deepEqual((await account.api.get(`/v1/reputation?tenant_id=${busy.id}`)).body.rows, body.rows.slice(0, 3))
  const bound = await account.withKey({ scopes: ['read'], tenant_id: quiet.id })
  assert.deepEqual((await bound.get('/v1/reputation')).body.rows, body.rows.slice(3))
  for (const id of [busy.id, randomUUID()]) {
    assert.equal((await bound.get(`/v1/reputation?tenant_id=${id}`)).status, 404)
  }
  assert.equal((await account.api.get('/v1/reputation?tenant_id=busy')).status, 400)
})

test('health follows the default thresholds: above them, and only with enough verdicts', () => {
  const of = (delivered: number, rest: object) => healthOf(nothingBut({ delivered, ...rest }))
  // Hard bounces: 4 % of 100, 8 % of 200.
  assert.equal(of(96, { hard_bounces: 4 }), 'ok')
  assert.equal(of(95, { hard_bounces: 5 }), 'warning')
  assert.equal(of(94, { hard_bounces: 5 }), 'ok', '99 verdicts')
  assert.equal(of(184, { hard_bounces: 16 }), 'warning')
  assert.equal(of(183, { hard_bounces: 17 }), 'critical')
  assert.equal(of(99, { hard_bounces: 100 }), 'warning', '199 verdicts')
  assert.equal(of(0, { soft_bounces: 1000 }), 'ok', 'soft bounces are not held against anybody')
  // Blocks: 5 % of 100, 20 % of 200.
  assert.equal(of(95, { blocks: 5 }), 'ok')
  assert.equal(of(94, { blocks: 6 }), 'warning')
  assert.equal(of(160, { blocks: 40 }), 'warning')
  assert.equal(of(159, { blocks: 41 }), 'critical')
  // Complaints: 0.1 % and 0.3 % of 1000, critical from three.
  assert.equal(of(999, { complaints: 999 }), 'ok', '999 verdicts')
  assert.equal(of(1000, { complaints: 1 }), 'ok')
  assert.equal(of(1000, { complaints: 2 }), 'warning')
  assert.equal(of(1000, { complaints: 3 }), 'warning')
  assert.equal(of(1000, { complaints: 4 }), 'critical')
})

test('complaints about older mail do not make more than a whole', () => {
  assert.equal(standingOf(nothingBut({ delivered: 1, complaints: 5 })).complaint_rate, 1)
  assert.equal(standingOf(nothingBut({ complaints: 5 })).complaint_rate, 0)
})

test('24 hours are 1,440 minutes, wherever in the hour they begin', async () => {
  const account = await anAccount({ box: await still() })
  const { clock } = account.box
  const from = Date.parse('2026-02-28T00:00:00Z')
  const at = (minute: number): Date => new Date(from + minute * 60_000)
  // Two to the power of its number for each of some minutes on both sides of the hours and of the window's end.
  const minutes = [0, 1, 29, 30, 31, 59, 60, 61, 90, 119, 120, 1439, 1440, 1441]
  const event: Happening = { type: 'accepted', tenantId: account.tenant.id }
  for (const [n, minute] of minutes.entries()) {
    clock.set(at(minute))
    await happen(account, { ...event, times: 2 ** n })
  }
  await counted(account.box)

  for (const now of [1441, 1455, 1469, 1470, 1471, 1485, 1499, 1500, 1501, 1560]) {
    clock.set(new Date(at(now).getTime() + 30_000))
    const { body } = await account.api.get('/v1/reputation')
    const expected = minutes.reduce((sum, minute, n) => sum + (minute >= now - 1440 ? 2 ** n : 0), 0)
    assert.equal(body.rows[0].recipients_24h, expected, `${now} minutes in`)
    const { minutesFrom, minutesTo } = lastDay(clock.now())
    assert.ok(minutesTo.getTime() - minutesFrom.getTime() <= 30 * 60_000)
  }
})
