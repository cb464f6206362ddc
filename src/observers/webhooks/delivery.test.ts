// What becomes of a push: retries, giving up, endpoints that are stopped, replay, leases, isolation, retention. The clock
// is moved, never waited for.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import type { EventDraft } from '../../platform/journal/append.ts'
import { aReceiver, isSigned, type Receiver, type Received } from '../../platform/net/receiver.fixture.ts'
import { AttemptRetention } from './retention.ts'
import { claimAttempts, lockDueWebhooks, recordTried, updateDueTimes } from './work-queries.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let box: Box
let receiver: Receiver
/** What each path answers; 200 where nothing is said. */
const answers = new Map<string, (request: Received) => number>()

before(async () => {
  receiver = await aReceiver()
  receiver.answer = (request, response) => {
    response.writeHead(answers.get(request.path)?.(request) ?? 200).end()
  }
  box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
})

after(() => receiver.close())

const happen = ({ id }: TestAccount, ...events: Omit<EventDraft, 'accountId'>[]): Promise<void> =>
  box.app.world.db.transact(system('test'), async tx => {
    for (const event of events) tx.record({ ...event, accountId: id })
  })

const many = (count: number) => Array.from({ length: count }, (_, n) => ({ type: 'accepted', data: { n } }))

async function aWebhook(account: TestAccount, answer?: (request: Received) => number) {
  const path = `/${randomUUID()}`
  if (answer) answers.set(path, answer)
  const created = await account.api.post('/v1/webhooks', { url: receiver.url + path })
  assert.equal(created.status, 201)
  return { id: created.body.id as string, secret: created.body.secret as string, path }
}

interface Attempt {
  event_id: number
  status: string
  attempt: number
  response_status: number | null
  error: string | null
  latency_ms: number | null
  next_attempt_at: string | null
  created_at: string
  updated_at: string
}

const attemptsOf = async ({ api }: TestAccount, id: string, query = ''): Promise<Attempt[]> =>
  (await api.get(`/v1/webhooks/${id}/attempts${query}`)).body.attempts

const webhookOf = async ({ api }: TestAccount, id: string) =>
  (await api.get('/v1/webhooks')).body.webhooks.find((each: { id: string }) => each.id === id)

/** The one attempt of a webhook, once it has been tried so often. */
const tried = (account: TestAccount, id: string, times: number) =>
  eventually(`try ${times}`, async () => {
    box.app.world.wakeups.nudge('attempts')
    const [attempt] = await attemptsOf(account, id)
    return attempt?.attempt === times && attempt
  })

const nonEmpty = <T>(list: T[]): T[] | false => list.length > 0 && list

const dueAgain = ({ next_attempt_at, updated_at }: Attempt): number =>
  Date.parse(next_attempt_at ?? '') - Date.parse(updated_at)

test('a failed push is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, then it is dead', async () => {
  const account = await anAccount({ box })
  const { id, path, secret } = await aWebhook(account, () => 500)
  await happen(account, { type: 'bounced', data: { n: 1 } })

  const pauses = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
  for (const [index, seconds] of pauses.entries()) {
    const attempt = await tried(account, id, index + 1)
    assert.deepEqual(
      [attempt.status, attempt.response_status, attempt.error],
      ['failed', 500, 'Answered 500.'],
      `after try ${index + 1}`,
    )
    const pause = dueAgain(attempt) / SECOND_MS
    assert.ok(pause >= seconds * 0.9 && pause <= seconds * 1.1, `${pause} s after try ${index + 1}`)
    box.clock.set(new Date(Date.parse(attempt.next_attempt_at!) + 1))
  }
  const last = await tried(account, id, 8)
  assert.deepEqual([last.status, last.next_attempt_at], ['dead', null])
  box.clock.advance(11 * HOUR_MS)

  const pushes = receiver.of(path)
  assert.deepEqual(
    pushes.map(push => push.headers['x-service-delivery-attempt']),
    ['1', '2', '3', '4', '5', '6', '7', '8'],
  )
  assert.equal(new Set(pushes.map(push => push.body)).size, 1)
  assert.equal(new Set(pushes.map(push => push.headers['x-service-event-id'])).size, 1)
  const signatures = pushes.map(push => String(push.headers['x-service-signature']))
  assert.equal(new Set(signatures).size, 8)
  const timesOf = (push: Received) =>
    new Date(1000 * Number(/t=(\d+)/.exec(String(push.headers['x-service-signature']))![1]))
  assert.ok(pushes.every(push => isSigned(push, secret, timesOf(push))))
  assert.ok(timesOf(pushes[7]!).getTime() - timesOf(pushes[0]!).getTime() > 24 * HOUR_MS)
})

test('a receiver that fails 40 % of the time gets every event, and its counters are right', async () => {
  const account = await anAccount({ box })
  let calls = 0
  const { id, path } = await aWebhook(account, () => (++calls % 5 < 2 ? 503 : 200))
  await happen(account, ...many(100))

  await eventually('all are delivered or dead', async () => {
    const list = await attemptsOf(account, id, '?limit=500')
    const open = list.filter(each => each.status === 'failed' || each.status === 'pending')
    const areAll = list.length === 100
    if (areAll && open.length === 0) return true
    // Not while one is or may be under way, or is still to come: its lease would lapse.
    const now = box.clock.now().getTime()
    if (areAll && open.every(each => Date.parse(each.next_attempt_at ?? '') > now)) box.clock.advance(3 * HOUR_MS)
    box.app.world.wakeups.nudge('attempts')
    return false
  })

  const attempts = await attemptsOf(account, id, '?limit=500')
  const pushes = receiver.of(path)
  assert.equal(attempts.length, 100)
  for (const { event_id, status, attempt } of attempts) {
    const numbers = pushes
      .filter(push => push.event.id === event_id)
      .map(push => Number(push.headers['x-service-delivery-attempt']))
    assert.deepEqual(
      numbers,
      Array.from({ length: attempt }, (_, n) => n + 1),
    )
    assert.ok(status === 'delivered' || (status === 'dead' && attempt === 8))
  }
  assert.ok(attempts.filter(each => each.status === 'delivered').length >= 95)
})

test('410 disables the endpoint, raises an alert and is audited as the system', async () => {
  const account = await anAccount({ box })
  const { id, path } = await aWebhook(account, () => 410)
  await happen(account, { type: 'accepted' })
  await eventually('disabled', async () => (await webhookOf(account, id)).status === 'disabled')
  await happen(account, { type: 'accepted' })
  const other = await aWebhook(account)
  await happen(account, { type: 'accepted' })
  await eventually('the other is served', async () => receiver.of(other.path).length === 1)

  assert.equal(receiver.of(path).length, 1)
  assert.equal((await webhookOf(account, id)).disabled_reason, 'gone')
  const { events } = (await account.api.get('/v1/events?type=anomaly_detected')).body
  assert.equal(events.length, 1)
  const { kind, severity, webhook_id, reason } = events[0].data
  assert.deepEqual([kind, severity, webhook_id, reason], ['webhook_disabled', 'warning', id, 'gone'])
  const { entries } = (await account.api.get('/v1/audit')).body
  const [entry] = entries.filter((each: { target: { id: string } }) => each.target.id === id)
  assert.deepEqual([entry.action, entry.actor.type], ['webhook.disable', 'system'])
  assert.deepEqual(entry.after, { status: 'disabled', disabled_reason: 'gone' })
})

async function aFailingWebhook() {
  const account = await anAccount({ box })
  const answer = { status: 500 }
  const { id } = await aWebhook(account, () => answer.status)
  const oneMore = async (): Promise<void> => {
    const before = (await attemptsOf(account, id)).length
    await happen(account, { type: 'accepted' })
    await eventually('one more was tried', async () => {
      const list = await attemptsOf(account, id)
      return list.length === before + 1 && list[0]!.attempt > 0
    })
  }
  const daily = async (days: number): Promise<void> => {
    for (let day = 0; day < days; day++) {
      box.clock.advance(DAY_MS)
      await oneMore()
    }
  }
  return { account, id, answer, oneMore, daily, webhook: () => webhookOf(account, id) }
}

test('an endpoint whose tries all failed for five days is disabled; a success in between starts the days anew', async () => {
  const { account, answer, oneMore, daily, webhook } = await aFailingWebhook()
  await oneMore()
  assert.notEqual((await webhook()).failing_since, null)
  await daily(4)
  answer.status = 200
  await daily(1)
  await eventually('it succeeds', async () => (await webhook()).failing_since === null)
  answer.status = 500
  await oneMore()
  await daily(4)
  assert.equal((await webhook()).status, 'active')

  // What failed before is due again, and its failure is one too many.
  box.clock.advance(DAY_MS)
  box.app.world.wakeups.nudge('attempts')

  await eventually('disabled', async () => (await webhook()).status === 'disabled')
  assert.equal((await webhook()).disabled_reason, 'failing')
  const { events } = (await account.api.get('/v1/events?type=anomaly_detected')).body
  assert.deepEqual([events.length, events[0].data.reason], [1, 'failing'])
})

test('days on which nothing was tried do not count towards the five', async () => {
  const { oneMore, daily, webhook } = await aFailingWebhook()
  await oneMore()
  box.clock.advance(6 * DAY_MS)
  await oneMore()
  assert.equal((await webhook()).status, 'active')
  // So an endpoint that is hardly ever called is disabled later, but it is.
  await daily(3)
  assert.equal((await webhook()).status, 'active')
  box.clock.advance(DAY_MS)
  box.app.world.wakeups.nudge('attempts')
  await eventually('disabled', async () => (await webhook()).status === 'disabled')
})

test('what waits when an endpoint is disabled waits, and goes on when it is enabled', async () => {
  const account = await anAccount({ box })
  let status = 500
  const { id, path } = await aWebhook(account, () => status)
  await happen(account, { type: 'accepted' })
  await tried(account, id, 1)
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })
  status = 200
  box.clock.advance(HOUR_MS)
  const other = await aWebhook(account)
  await happen(account, { type: 'accepted' })
  await eventually('the other is served', async () => receiver.of(other.path).length === 1)
  assert.equal(receiver.of(path).length, 1)
  assert.equal((await attemptsOf(account, id))[0]!.status, 'failed')

  await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })

  const done = await tried(account, id, 2)
  assert.equal(done.status, 'delivered')
})

test('replay queues failed and dead attempts again with all their tries; since leaves older ones alone', async () => {
  const account = await anAccount({ box })
  let status = 500
  const { id, path } = await aWebhook(account, () => status)
  await happen(account, { type: 'accepted', data: { n: 'old' } })
  for (let times = 1; times < 8; times++) {
    const { next_attempt_at } = await tried(account, id, times)
    box.clock.set(new Date(Date.parse(next_attempt_at!) + 1))
  }
  assert.equal((await tried(account, id, 8)).status, 'dead')
  const since = new Date(box.clock.now().getTime() + 1).toISOString()
  box.clock.advance(SECOND_MS)
  await happen(account, { type: 'accepted', data: { n: 'new' } })
  await eventually('the new one failed', async () => (await attemptsOf(account, id, '?status=failed')).length === 1)
  status = 200

  const recent = await account.api.post(`/v1/webhooks/${id}/replay?since=${encodeURIComponent(since)}`)
  assert.deepEqual([recent.status, recent.body], [200, { requeued: 1 }])
  await eventually('it is delivered', async () => (await attemptsOf(account, id, '?status=delivered')).length === 1)
  assert.equal((await attemptsOf(account, id, '?status=dead')).length, 1)
  status = 500
  assert.deepEqual((await account.api.post(`/v1/webhooks/${id}/replay`)).body, { requeued: 1 })
  // The count of tries goes on; the schedule begins anew.
  const again = await eventually('it failed again', async () => (await attemptsOf(account, id, '?status=failed'))[0])
  assert.equal(again.attempt, 9)
  assert.ok(dueAgain(again) < 6 * SECOND_MS)
  status = 200
  assert.deepEqual((await account.api.post(`/v1/webhooks/${id}/replay`)).body, { requeued: 1 })
  await eventually('all are delivered', async () => (await attemptsOf(account, id, '?status=delivered')).length === 2)
  assert.deepEqual((await account.api.post(`/v1/webhooks/${id}/replay`)).body, { requeued: 0 })

  const numbers = receiver
    .of(path)
    .filter(push => push.event.data.n === 'old')
    .map(push => Number(push.headers['x-service-delivery-attempt']))
  assert.deepEqual(
    numbers,
    Array.from({ length: 10 }, (_, n) => n + 1),
  )
  assert.equal((await account.api.post(`/v1/webhooks/${id}/replay?since=yesterday`)).status, 400)
})

test('an endpoint that hangs keeps nobody waiting, and holds few of its own', async t => {
  const account = await anAccount({ box })
  const abyss = await aReceiver()
  t.after(() => abyss.close())
  abyss.answer = () => {}
  for (let n = 0; n < 5; n++) await account.api.post('/v1/webhooks', { url: `${abyss.url}/${n}` })
  const fine = await Promise.all(Array.from({ length: 20 }, () => aWebhook(account)))

  for (let round = 0; round < 10; round++) {
    await happen(account, ...many(10))
    for (const { path } of fine) {
      // One that waited for an endpoint that hangs would wait for its deadline, 15 s.
      await eventually('served', async () => receiver.of(path).length === (round + 1) * 10, 5_000)
    }
  }

  assert.ok(abyss.received.length >= 5 && abyss.received.length <= 20, 'few at once at one that has not answered')
})

test('a worker that dies gives its attempts back within 35 s, and what it records late changes nothing', async () => {
  const account = await anAccount({ box })
  const { id, path } = await aWebhook(account)
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
    update webhooks set until_event_id = null where id = ${id}`),
  )
  await happen(account, { type: 'accepted' })
  const [attempt] = await eventually('queued', async () => {
    const list = await attemptsOf(account, id)
    return list.length === 1 && list
  })
  const leaseToken = randomUUID()
  // Another worker, as far as the database can tell: claims in one go with enabling, and is never heard of again.
  await box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`update webhooks set status = 'active' where id = ${id}`)
    await tx.run(sql`update webhook_due set due_at = ${tx.now} where webhook_id = ${id}`)
    const asked = { only: null, except: [], exceptAccounts: [], known: [] }
    const due = await lockDueWebhooks(tx, { asked, limit: 10 })
    assert.ok(due.some(each => each.webhook_id === id))
    const leaseUntil = new Date(tx.now.getTime() + 30 * SECOND_MS)
    const claimed = await claimAttempts(tx, { webhooks: [{ webhookId: id, attemptsMax: 5 }], leaseToken, leaseUntil })
    assert.equal(claimed.length, 1)
    await updateDueTimes(tx, [id])
  })
  box.clock.advance(25 * SECOND_MS)
  box.app.world.wakeups.nudge('attempts')
  const other = await aWebhook(account)
  await happen(account, { type: 'accepted' })
  await eventually('the other is served', async () => receiver.of(other.path).length === 1)
  assert.ok(!receiver.of(path).some(push => push.event.id === attempt!.event_id), 'leased, so left alone')
  assert.equal((await attemptsOf(account, id)).at(-1)!.next_attempt_at, null)

  box.clock.advance(10 * SECOND_MS)
  box.app.world.wakeups.nudge('attempts')
  await eventually('taken over', async () => receiver.of(path).some(push => push.event.id === attempt!.event_id))
  await eventually('recorded', async () => (await attemptsOf(account, id, '?status=delivered')).length === 2)

  const late = await box.app.world.db.transact(system('test'), tx =>
    recordTried(tx, [
      {
        webhook_id: id,
        event_id: attempt!.event_id,
        leaseToken,
        status: 'dead',
        tries: 1,
        dueAt: null,
        responseStatus: 500,
        error: 'late',
        latencyMs: 1,
      },
    ]),
  )
  assert.deepEqual(late, [])
  assert.equal((await attemptsOf(account, id)).at(-1)!.status, 'delivered')
})

test('an attempt whose event is no longer stored is dead', async () => {
  const account = await anAccount({ box })
  const { id } = await aWebhook(account, () => 500)
  await happen(account, { type: 'accepted' })
  await tried(account, id, 1)
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`delete from events where account_id = ${account.id}`),
  )
  box.clock.advance(10 * SECOND_MS)
  box.app.world.wakeups.nudge('attempts')

  const [attempt] = await eventually('given up', () => attemptsOf(account, id, '?status=dead').then(nonEmpty))

  assert.deepEqual([attempt!.attempt, attempt!.error], [1, 'The event is no longer stored.'])
})

test('an event that is no longer stored does not count against the endpoint', async () => {
  const account = await anAccount({ box })
  const { id, path } = await aWebhook(account)
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'disabled' })
  const change = (statement: Sql) => box.app.world.db.transact(system('test'), tx => tx.run(statement))
  await change(sql`update webhooks set until_event_id = null where id = ${id}`)
  await happen(account, { type: 'accepted' })
  await eventually('queued', async () => (await attemptsOf(account, id)).length === 1)
  await change(sql`delete from events where account_id = ${account.id}`)
  await account.api.patch(`/v1/webhooks/${id}`, { status: 'active' })

  const [attempt] = await eventually('given up', () => attemptsOf(account, id, '?status=dead').then(nonEmpty))

  assert.equal(attempt!.attempt, 0)
  assert.equal((await webhookOf(account, id)).failing_since, null)
  assert.deepEqual(receiver.of(path), [])
})

test('attempts of one endpoint start in the order of events, and no more than 16 are open at once', async t => {
  const account = await anAccount({ box })
  const alone = await aReceiver()
  t.after(() => alone.close())
  alone.answer = (_request, response) => void setTimeout(() => response.end(), 5)
  await account.api.post('/v1/webhooks', { url: alone.url })
  await happen(account, ...many(300))

  await eventually('all arrived', async () => alone.received.length === 300)

  const ids = alone.received.map(push => push.event.id)
  assert.ok(alone.openMax > 4 && alone.openMax <= 16, `${alone.openMax} were open at once`)
  // They may overtake one another, and one whose connection is slow to open comes late; nine of ten come in order.
  const inOrder = ids.filter((id, index) => Math.abs(id - Math.min(...ids) - index) <= 32)
  assert.ok(inOrder.length >= 270, `${inOrder.length} of 300 came in their order`)
})

test('delivered attempts are removed after 7 days, dead ones after 30, and what a deleted webhook left at once', async () => {
  const account = await anAccount({ box })
  const good = await aWebhook(account)
  const bad = await aWebhook(account, () => 410)
  await happen(account, { type: 'accepted' })
  // The event, and the alert about the other endpoint.
  await eventually('tried', async () => (await attemptsOf(account, good.id, '?status=delivered')).length === 2)
  await eventually('tried', async () => (await attemptsOf(account, bad.id))[0]?.attempt === 1)
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update webhook_attempts set status = 'dead', due_at = null where webhook_id = ${bad.id}`),
  )
  const retention = new AttemptRetention()
  const remove = () => retention.removeOld(box.app.world, new AbortController().signal)
  const left = async () => [(await attemptsOf(account, good.id)).length, (await attemptsOf(account, bad.id)).length]

  box.clock.advance(7 * DAY_MS - HOUR_MS)
  await remove()
  assert.deepEqual(await left(), [2, 1])
  box.clock.advance(2 * HOUR_MS)
  await remove()
  assert.deepEqual(await left(), [0, 1])
  box.clock.advance(23 * DAY_MS)
  await remove()
  assert.deepEqual(await left(), [0, 0])

  await happen(account, { type: 'accepted' })
  await eventually('tried', async () => (await attemptsOf(account, good.id)).length === 1)
  await account.api.delete(`/v1/webhooks/${good.id}`)
  await remove()
  const rows = await box.app.world.db.many(sql`select 1 from webhook_attempts where webhook_id = ${good.id}`)
  assert.deepEqual(rows, [])
  assert.deepEqual(await box.app.world.db.many(sql`select 1 from webhook_removals`), [])
})

test('Prometheus is told what pushes came to and how much waits', async () => {
  const text = await (await fetch(`${box.url}/metrics`)).text()
  assert.match(text, /sluice_webhook_attempts_total\{outcome="delivered"\} [1-9]/)
  assert.match(text, /sluice_webhook_attempts_total\{outcome="failed"\} [1-9]/)
  assert.match(text, /sluice_webhook_attempts_total\{outcome="dead"\} [1-9]/)
  assert.match(text, /sluice_webhook_attempts_waiting\{status="pending"\} \d/)
})
