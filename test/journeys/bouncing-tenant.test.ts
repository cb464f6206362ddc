// A tenant begins to bounce: it alone is stopped, within half a minute, its mail is kept, people and machines are told, and
// when somebody has looked into it the mail flows again. Then: a receiver that was dead gets every event later.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aReceiver, type Receiver } from '../../src/platform/net/receiver.fixture.ts'
import { aBox, type Box } from '../support/box.ts'
import { anAccount, eventually, type TestAccount, type TestTenant } from '../support/factories.ts'
import { aSink } from '../support/sink.ts'

const receivers: Receiver[] = []
after(() => Promise.all(receivers.map(receiver => receiver.close())))

async function aListener(): Promise<Receiver> {
  const receiver = await aReceiver()
  receivers.push(receiver)
  return receiver
}

async function send(
  { api }: TestAccount,
  tenant: TestTenant,
  to: string[],
): Promise<{ message_id: string; held: number }> {
  const body = { tenant_id: tenant.id, from: `news@${tenant.external_id}.example`, to, text: 'Hello' }
  const sent = await api.post('/v1/messages', body)
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  return sent.body
}

const people = (kind: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${kind}-${n}@example.com`)

async function pass({ app }: Box): Promise<void> {
  const guardian = app.workers.find(worker => worker.name === 'guardian')!
  assert.ok(guardian.kind === 'periodic')
  await guardian.run(app.world, new AbortController().signal)
}

test('a tenant that bounces is stopped alone, told of, resumed, and left in peace for a while', async t => {
  const sink = await aSink()
  after(() => sink.close())
  const environment = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', SMTP_ROUTES: `*=127.0.0.1:${sink.port}` }
  const box = await aBox({ until: t, environment })
  const account = await anAccount({ box, sandbox: true, tenants: 2 })
  const { api } = account
  const [bad, good] = [account.tenants[0]!, account.tenants[1]!]
  const listener = await aListener()
  await api.post('/v1/webhooks', {
    url: `${listener.url}/events`,
    event_types: ['suspended', 'resumed', 'anomaly_detected'],
  })
  await api.post('/v1/alert-contacts', { channel: 'chat', target: `${listener.url}/chat` })
  const { body: mailed } = await api.post('/v1/alert-contacts', { channel: 'email', target: 'oncall@example.com' })

  await send(account, bad, [...people('bounce', 60), ...people('fine', 200)])
  await send(account, good, people('fine', 260))
  const began = performance.now()
  const paused = await eventually(
    'the bad tenant is paused',
    async () => (await api.get('/v1/suspensions?status=active')).body.suspensions[0],
    30_000,
  )
  assert.ok(performance.now() - began < 30_000)
  assert.deepEqual([paused.scope, paused.source], [`tenant:${bad.id}`, 'guardian'])
  assert.equal(paused.evidence.metric, 'hard_bounce_rate')
  assert.ok(paused.evidence.value > 0.2 && paused.evidence.value < 0.25, String(paused.evidence.value))
  assert.equal((await api.get('/v1/suspensions?status=active')).body.suspensions.length, 1)

  const kept = await send(account, bad, people('later', 5))
  const flows = await send(account, good, people('now', 5))
  assert.deepEqual([kept.held, flows.held], [5, 0])
  const told = (path: string, type: string) =>
    listener.received.some(each => each.path === path && each.event.type === type)
  const toldInChat = () => listener.of('/chat').some(each => String(each.event.text).includes('CRITICAL'))
  await eventually(
    'the webhook and the chat are told',
    async () => told('/events', 'suspended') && told('/events', 'anomaly_detected') && toldInChat(),
    20_000,
  )
  await eventually('the simulator has taken the mail', async () => {
    const { contacts } = (await api.get('/v1/alert-contacts')).body
    return contacts.find((each: { id: string }) => each.id === mailed.id).last_delivered_at
  })
  assert.deepEqual(sink.received, [], 'nothing of a sandbox leaves the machine')
  const health = (await api.get('/v1/overview')).body.tenants.find(
    (each: { tenant_id: string }) => each.tenant_id === bad.id,
  )
  assert.equal(health.health, 'critical')

  const resumed = await api.post(`/v1/suspensions/${paused.id}/resume`, { note: 'list cleaned' })
  assert.equal(resumed.body.affected_deliveries, 5)
  await eventually(
    'what was kept is delivered',
    async () => (await api.get(`/v1/messages/${kept.message_id}`)).body.counts.delivered === 5,
  )
  await eventually('the resume is told', async () => told('/events', 'resumed'))
  // More of the same within the grace: seen, but not stopped again. What came before the resume does not count again.
  box.clock.advance(61_000)
  await send(account, bad, [...people('bounce-again', 80), ...people('fine-again', 200)])
  await eventually('counted', async () => {
    const { intervals } = (await api.get(`/v1/metrics?scope_type=tenant&scope_value=${bad.id}`)).body
    return intervals.reduce((sum: number, each: { hard_bounces: number }) => sum + each.hard_bounces, 0) === 140
  })
  await pass(box)
  assert.equal((await api.get('/v1/suspensions?status=active')).body.suspensions.length, 0)
  box.clock.advance(16 * 60_000)
  await send(account, bad, people('one-more', 1))
  await eventually('stopped again after the grace', async () => {
    await pass(box)
    return (await api.get('/v1/suspensions?status=active')).body.suspensions.length === 1
  })
  const { body: audit } = await api.get('/v1/audit?action=suspension.create')
  assert.deepEqual(
    audit.entries.map((entry: { actor: { type: string } }) => entry.actor.type),
    ['system', 'system'],
  )
})

test('a receiver that was dead gets every event later, once it answers again', async t => {
  const box = await aBox({ until: t, environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  const account = await anAccount({ box, sandbox: true })
  const { api, tenant } = account
  const listener = await aListener()
  listener.answer = (_request, response) => void response.writeHead(503).end()
  const hook = await api.post('/v1/webhooks', { url: `${listener.url}/events` })
  await send(account, tenant, people('fine', 40))
  const failed = () => api.get(`/v1/webhooks/${hook.body.id}/attempts?status=failed&limit=500`)
  await eventually('every event has failed once', async () => (await failed()).body.attempts.length === 80)
  listener.answer = (_request, response) => void response.end()
  const missed = listener.received.splice(0)
  assert.equal(missed.length, 80)
  box.clock.advance(6_000)
  await eventually('every event has arrived', async () => listener.received.length >= 80)
  const { body } = await api.get('/v1/events?limit=500')
  assert.deepEqual(
    new Set(listener.received.map(each => each.event.id)),
    new Set(body.events.map((event: { id: number }) => event.id)),
  )
  await eventually('all are recorded', async () => (await failed()).body.attempts.length === 0)
})
