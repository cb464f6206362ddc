// Whatever is done to it, a delivery goes through its states one after the other, one event for each change, and ends
// in one that it never leaves. A seeded muddle of pauses, purges, complaints and time.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/platform/db/sql.ts'
import { aBox } from '../support/box.ts'
import { anAccount, eventually } from '../support/factories.ts'

const SEED = '20261115'
const STEPS = 60

let drawn = 0
const random = (below: number): number =>
  createHash('sha256').update(`${SEED} ${drawn++}`).digest().readUInt32BE() % below
const pick = <T>(values: readonly T[]): T => values[random(values.length)]!

const WAITING = ['held', 'delivered', 'deferred', 'bounced', 'blocked', 'expired', 'cancelled']
/** What may follow each event of a delivery. */
const FOLLOWS: Record<string, string[]> = {
  '': ['accepted', 'suppressed'],
  accepted: WAITING,
  released: WAITING,
  deferred: WAITING,
  held: ['released', 'cancelled', 'expired'],
  delivered: ['complained', 'bounced', 'blocked'],
  suppressed: [],
  complained: [],
  bounced: [],
  blocked: [],
  expired: [],
  cancelled: [],
}

const KINDS = ['fine', 'bounce', 'soft', 'block', 'defer', 'complain']

test('every delivery goes through legal states and ends in one', async t => {
  t.diagnostic(`seed ${SEED}`)
  const box = await aBox({ until: t })
  const account = await anAccount({ box, sandbox: true, tenants: 2 })
  const { api } = account
  const paused = new Map<string, string>()
  const sent: { id: string; to: string[] }[] = []
  const steps: Record<string, () => Promise<void>> = {
    send: async () => {
      const to = Array.from({ length: 1 + random(8) }, () => `${pick(KINDS)}-${random(6)}@d${random(3)}.example`)
      const tenant = pick(account.tenants)
      const body = {
        tenant_id: tenant.id,
        from: `a@${pick(['x', 'y'])}.example`,
        to,
        text: 'x',
        tags: [pick(['red', 'blue'])],
      }
      const { status, body: reply } = await api.post('/v1/messages', body)
      assert.equal(status, 202, JSON.stringify(reply))
      sent.push({ id: reply.message_id, to })
    },
    pause: async () => {
      const scope = pick([
        { scope_type: 'tenant', scope_value: account.tenant.id },
        { scope_type: 'account' },
        { scope_type: 'rule', scope_value: 'tag:red' },
        { scope_type: 'rule', scope_value: 'recipient_domain:d1.example' },
      ])
      const { body } = await api.post('/v1/suspensions', scope)
      paused.set(body.scope, body.id)
    },
    resume: async () => {
      if (paused.size === 0) return
      const [scope, id] = pick([...paused])
      paused.delete(scope)
      const { status } = await api.post(`/v1/suspensions/${id}/resume`, {
        action: pick(['release', 'release', 'purge']),
      })
      assert.equal(status, 200)
    },
    complain: async () => {
      if (sent.length === 0) return
      const { id, to } = pick(sent)
      await api.post('/v1/complaints', { message_id: id, recipient: pick(to) })
    },
    wait: async () => box.clock.advance(random(120_000)),
  }
  const names = ['send', 'send', 'send', 'pause', 'resume', 'complain', 'wait']
  for (let step = 0; step < STEPS; step++) await steps[pick(names)]!()
  for (const [, id] of paused) await api.post(`/v1/suspensions/${id}/resume`, {})
  await eventually(
    'everything is decided',
    async () => {
      box.clock.advance(60_000)
      const { body } = await api.get('/v1/queue')
      return body.queued + body.held + body.sending + body.deferred === 0
    },
    30_000,
  )
  const { db } = box.app.world
  const events = await db.many<{ message_id: string; recipient: string; type: string }>(sql`
    select message_id, recipient, type from events where message_id is not null order by id`)
  const histories = Map.groupBy(events, event => `${event.message_id} ${event.recipient}`)
  const deliveries = await db.many<{ message_id: string; recipient: string; status: string }>(sql`
    select message_id, recipient, status from deliveries`)
  assert.ok(deliveries.length > 60, String(deliveries.length))
  const seen = new Set<string>()
  for (const { message_id, recipient, status } of deliveries) {
    const history = (histories.get(`${message_id} ${recipient}`) ?? []).map(event => event.type)
    let state = ''
    for (const next of history) {
      assert.ok(FOLLOWS[state]?.includes(next), `${next} after ${state || 'nothing'}: ${history.join(' ')}`)
      seen.add(next)
      state = next
    }
    assert.equal(state, status, history.join(' '))
  }
  for (const type of ['held', 'released', 'cancelled', 'deferred', 'bounced', 'blocked', 'complained', 'suppressed']) {
    assert.ok(seen.has(type), `the muddle has met ${type}`)
  }
})
