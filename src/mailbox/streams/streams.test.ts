// Streams of an inbox over server-sent events and WebSocket.
// Waits more than it works.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { mock, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { anAccount, anInbox, eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { followEvents, followSocket, happen, type Follower } from './streams.fixture.ts'

async function aFollowedInbox() {
  const account = await anAccount()
  const inbox = await anInbox(account)
  const { world } = account.box.app
  const asked = { url: account.box.url, inbox, bearer: account.bearer }
  return {
    account,
    inbox,
    asked,
    happen: (type: string, count = 1) => happen(world, { accountId: account.id, inboxId: inbox, type }, count),
  }
}

const ids = ({ frames }: Follower): number[] => frames.map(frame => frame.id)

test('both streams carry the events of the inbox from now on, in one frame each', async () => {
  const { account, inbox, asked, happen: occur } = await aFollowedInbox()
  await occur('message.received')
  const [events, socket] = [await followEvents(asked), await followSocket(asked)]

  await occur('message.sent')
  await events.until(1)
  await socket.until(1)

  assert.equal(events.status, 200)
  assert.equal(events.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(events.headers['cache-control'], 'no-store')
  assert.equal(events.headers['x-accel-buffering'], 'no')
  assert.match(events.text(), /^retry: \d{4}\n\nid: \d+\nevent: message\.sent\ndata: \{/)
  const [frame] = events.frames
  assert.deepEqual(Object.keys(frame!), ['id', 'type', 'inbox_id', 'created_at', 'data'])
  assert.equal(frame!.inbox_id, inbox)
  assert.deepEqual(frame!.data, { n: 0 })
  assert.deepEqual(socket.frames, events.frames)
  const { body } = await account.api.patch(`/v1/inboxes/${inbox}`, { display_name: 'Followed' })
  assert.equal(body.display_name, 'Followed')
  assert.equal((await events.until(2))[1]!.type, 'inbox.updated')
  events.close()
  socket.close()
})

test('events of another inbox and of the account are not in the stream', async () => {
  const { account, asked, happen: occur } = await aFollowedInbox()
  const other = await anInbox(account)
  const stream = await followEvents(asked)
  const { world } = account.box.app

  await happen(world, { accountId: account.id, inboxId: other })
  await world.db.transact(
    { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null },
    async tx => tx.record({ type: 'accepted', accountId: account.id }),
  )
  await occur('message.received')
  await stream.until(1)

  assert.deepEqual(
    stream.frames.map(({ type }) => type),
    ['message.received'],
  )
  stream.close()
})

test('a stream is resumed by after_id or Last-Event-ID, of which the header is the newer', async () => {
  const { asked, happen: occur } = await aFollowedInbox()
  await occur('message.updated', 250)
  const all = await followEvents({ ...asked, afterId: 0 })
  await all.until(250)
  const seen = ids(all)
  assert.deepEqual(
    seen,
    seen.toSorted((left, right) => left - right),
  )
  const [middle, later] = [seen[99]!, seen[199]!]

  const byHeader = await followEvents({ ...asked, headers: { 'last-event-id': String(later) } })
  const byBoth = await followEvents({ ...asked, afterId: middle, headers: { 'last-event-id': String(later) } })
  const bySocket = await followSocket({ ...asked, afterId: middle })
  await occur('message.deleted')
  await byHeader.until(51)
  await byBoth.until(51)
  await bySocket.until(151)
  await all.until(251)

  assert.deepEqual(ids(byHeader), ids(all).slice(200))
  assert.deepEqual(ids(byBoth), ids(all).slice(200))
  assert.deepEqual(ids(bySocket), ids(all).slice(100))
  for (const stream of [all, byHeader, byBoth, bySocket]) stream.close()
})

test('an id that is no int64 answers 400 on both streams', async () => {
  const { account, inbox } = await aFollowedInbox()
  for (const id of ['-1', '1.5', '1e3', 'abc', '', '0x10', '+1', '99999999999999999999', '9007199254740993', '%201']) {
    for (const stream of ['events', 'ws']) {
      const { status, body } = await account.api.get(`/v1/inboxes/${inbox}/${stream}?after_id=${id}`)
      assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], `${stream} ${id}`)
    }
  }
  assert.equal((await account.api.get(`/v1/inboxes/${inbox}/events?after_id=1&after_id=2`)).status, 400)
  for (const id of ['-1', '1.5', 'abc', '99999999999999999999']) {
    const { status } = await account.api.get(`/v1/inboxes/${inbox}/events`, { 'last-event-id': id })
    assert.equal(status, 400, id)
  }
})

test('a browser offers its key as a subprotocol, which is taken and echoed', async () => {
  const { asked, happen: occur } = await aFollowedInbox()
  const stream = await followSocket(asked, { protocols: ['other', `svc.${asked.bearer}`] })
  assert.equal(stream.status, 101)
  assert.equal(stream.socket.protocol, `svc.${asked.bearer}`)
  await occur('message.received')
  await stream.until(1)
  stream.close()
  assert.equal((await followSocket(asked, { protocols: [`svc.${asked.bearer}x`] })).status, 401)
  assert.equal((await followSocket(asked, { protocols: ['svc.'] })).status, 401)
})

test('a key in the URL opens nothing and is refused', async () => {
  const { account, inbox, asked } = await aFollowedInbox()
  for (const stream of ['events', 'ws']) {
    for (const name of ['token', 'key', 'access_token', 'authorization']) {
      const path = `/v1/inboxes/${inbox}/${stream}?${name}=${asked.bearer}`
      assert.equal((await account.box.client().get(path)).status, 401, path)
      assert.equal((await account.api.get(path)).status, 400, path)
    }
  }
  assert.ok(!account.box.logLines.some(line => line.includes(asked.bearer)))
})

const HANDSHAKE_KEY = Buffer.alloc(16, 'k').toString('base64')

test('what is no WebSocket handshake answers 400, and other upgrades are served as they are', async () => {
  const { account, inbox, asked } = await aFollowedInbox()
  const handshakes: Record<string, string>[] = [
    { upgrade: 'h2c', connection: 'Upgrade' },
    // As a proxy sends it that was told half of what it needs.
    { upgrade: 'websocket', connection: 'close', 'sec-websocket-version': '13', 'sec-websocket-key': HANDSHAKE_KEY },
    { 'sec-websocket-version': '12' },
    { 'sec-websocket-key': 'short' },
    { 'sec-websocket-protocol': 'a, a' },
    { 'sec-websocket-protocol': 'a b' },
  ]
  for (const headers of handshakes) {
    const { status, body } = await account.api.get(`/v1/inboxes/${inbox}/ws`, headers)
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'], JSON.stringify(headers))
  }
  for (const path of [`/v1/inboxes/${inbox}`, '/v1/nowhere']) {
    const socket = await followSocket({ ...asked, url: `${asked.url}${path}?x=` })
    assert.equal(socket.status, path.includes('nowhere') ? 404 : 200)
  }
  const posted = await fetch(`${asked.url}/v1/tenants`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${asked.bearer}` },
  })
  assert.equal(posted.status, 200)
  const head = await fetch(`${asked.url}/v1/inboxes/${inbox}/events`, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers.get('allow')], [405, 'GET'])
})

test('a refused upgrade whose client keeps its side open is cut', async t => {
  const { asked } = await aFollowedInbox()
  const socket = connect({ port: Number(new URL(asked.url).port), host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /v1/nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  socket.resume()
  await once(socket, 'end')

  // What is said to a connection that is gone breaks it here too.
  for (let tries = 0; !socket.destroyed; tries++) {
    assert.ok(tries < 100, 'the connection is still open')
    await delay(100)
    socket.write('x')
  }
})

test('an inbox key follows its inbox only, and one without the scope read none', async () => {
  const { account, inbox, asked } = await aFollowedInbox()
  const other = await anInbox(account)
  const own = await account.withKey({ scopes: ['read'], inbox_id: inbox })
  const sender = await account.withKey({ scopes: ['send'], inbox_id: inbox })
  for (const stream of ['events', 'ws']) {
    const opened = await own.get(`/v1/inboxes/${inbox}/${stream}`)
    assert.equal(opened.status, stream === 'ws' ? 101 : 200)
    const random = await own.get(`/v1/inboxes/${crypto.randomUUID()}/${stream}`)
    const foreign = await own.get(`/v1/inboxes/${other}/${stream}`)
    assert.deepEqual([foreign.status, foreign.body], [404, random.body])
    assert.equal((await sender.get(`/v1/inboxes/${inbox}/${stream}`)).status, 403)
  }
  assert.ok(asked.bearer)
})

test('events that are gone for their age are told by one stream.reset, and the stream is live', async () => {
  const { account, inbox, asked, happen: occur } = await aFollowedInbox()
  const { db } = account.box.app.world
  await occur('message.updated', 5)
  const first = await followEvents({ ...asked, afterId: 0 })
  const [lost, , kept] = await first.until(5)
  first.close()
  const { deleteOldEvents } = await import('../../platform/journal/forget.ts')
  const by = { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null } as const
  await db.transact(by, async tx => {
    await tx.run(sql`update events set created_at = '2020-01-01' where inbox_id = ${inbox} and id < ${kept!.id}`)
  })
  await db.transact(by, tx =>
    deleteOldEvents(tx, {
      accountId: account.id,
      before: new Date('2021-01-01'),
      use: { readUpTo: Number.MAX_SAFE_INTEGER, undecidedFrom: null },
      limit: 100,
    }),
  )

  const resumed = await followSocket({ ...asked, afterId: lost!.id })
  const exact = await followEvents({ ...asked, afterId: kept!.id - 1 })
  await occur('message.received')
  await resumed.until(2)
  await exact.until(4)

  assert.deepEqual(
    resumed.frames.map(({ type }) => type),
    ['stream.reset', 'message.received'],
  )
  const [reset, next] = resumed.frames
  assert.deepEqual(reset!.data, { oldest_id: kept!.id })
  // Who resumes from the reset gets what came after it, and nothing of before.
  const again = await followEvents({ ...asked, afterId: reset!.id })
  assert.equal((await again.until(1))[0]!.id, next!.id)
  assert.equal(exact.frames[0]!.id, kept!.id)
  const unknown = await followEvents({ ...asked, afterId: Number.MAX_SAFE_INTEGER })
  assert.equal((await unknown.until(1))[0]!.type, 'stream.reset')
  for (const stream of [resumed, again, exact, unknown]) stream.close()
})

test('the floor of an inbox that is no more is removed, that of another stays', async () => {
  const { account, inbox } = await aFollowedInbox()
  const { world } = account.box.app
  const gone = randomUUID()
  await world.db.transact(system('test'), tx =>
    tx.run(sql`insert into event_floors (inbox_id, id) values (${gone}, 1), (${inbox}, 1)`),
  )
  const worker = account.box.app.workers.find(({ name }) => name === 'stream-leftovers')!
  assert.ok(worker.kind === 'periodic')
  await worker.run(world, new AbortController().signal)
  const floors = await world.db.many(sql`select inbox_id from event_floors where inbox_id in (${gone}, ${inbox})`)
  assert.deepEqual(floors, [{ inbox_id: inbox }])
})

test('the sixth stream of a key answers 429 with Retry-After, and a slot comes back when one ends', async () => {
  const { account, asked, happen: occur } = await aFollowedInbox()
  const streams: Follower[] = []
  for (let n = 0; n < 5; n++) streams.push(await (n % 2 ? followEvents(asked) : followSocket(asked)))
  const { status, body, headers } = await account.api.get(`/v1/inboxes/${asked.inbox}/events`)
  assert.deepEqual([status, body.error.code], [429, 'too_many_streams'])
  assert.match(headers.get('retry-after')!, /^\d+$/)
  assert.equal((await followSocket(asked)).status, 429)

  streams[3]!.close()
  const again = await eventually('the slot is free', async () => {
    const stream = await followSocket(asked)
    return stream.status === 101 && stream
  })
  await occur('message.received')
  await again.until(1)
  for (const stream of [...streams, again]) stream.close()
})

test('of many that open at once exactly five get in', async () => {
  const { asked } = await aFollowedInbox()
  const streams = await Promise.all(
    Array.from({ length: 40 }, (_, n) => (n % 2 ? followEvents(asked) : followSocket(asked))),
  )
  const opened = streams.filter(({ status }) => status < 300)
  assert.equal(opened.length, 5)
  assert.ok(streams.every(({ status }) => status < 300 || status === 429))
  for (const stream of streams) stream.close()
})

test('the slots of a process that died come back when their leases lapse', async () => {
  const { account, asked } = await aFollowedInbox()
  const { box } = account
  await box.app.world.db.transact(
    { type: 'system', id: null, name: 'test', ip: null, requestId: null, action: null },
    tx =>
      tx.run(sql`
        insert into stream_slots (key_id, n, lease_token, lease_until)
        select id, n, gen_random_uuid(), ${new Date(box.clock.now().getTime() + 30_000)}
        from api_keys, generate_series(1, 5) n where account_id = ${account.id}`),
  )
  assert.equal((await followSocket(asked)).status, 429)
  box.clock.advance(31_000)
  const stream = await followSocket(asked)
  assert.equal(stream.status, 101)
  stream.close()
})

/** Five seconds are promised; a machine that runs all tests at once may need some more. */
const CLOSED_MS_MAX = 10_000

test('streams of a key that is revoked, rotated or expires, and of a deleted inbox, end within seconds', async () => {
  const { account, inbox, asked } = await aFollowedInbox()
  const { api, box } = account
  const key = async (fields: object): Promise<{ id: string; secret: string }> =>
    (await api.post('/v1/api-keys', { name: 'Test key', scopes: ['read'], ...fields })).body
  const [revoked, rotated, expiring] = [await key({}), await key({}), await key({ expires_in_days: 1 })]
  const streams: Record<string, Follower> = {
    revoked: await followEvents({ ...asked, bearer: revoked.secret }),
    rotated: await followSocket({ ...asked, bearer: rotated.secret }),
    expiring: await followSocket({ ...asked, bearer: expiring.secret }),
    own: await followSocket(asked),
  }
  assert.equal((await api.delete(`/v1/api-keys/${revoked.id}`)).status, 204)
  assert.equal((await api.post(`/v1/api-keys/${rotated.id}/rotate`)).status, 200)
  box.clock.advance(86_400_000 + 1)
  const isEnded = async (name: string) =>
    eventually(`the stream of the ${name} key ends`, async () => streams[name]!.isClosed(), CLOSED_MS_MAX)
  await Promise.all(['revoked', 'rotated', 'expiring'].map(isEnded))
  assert.equal(streams['rotated']!.closeCode(), 1008)
  assert.equal(streams['own']!.isClosed(), false)

  assert.equal((await api.delete(`/v1/inboxes/${inbox}`)).status, 204)
  await isEnded('own')
  assert.equal(streams['own']!.closeCode(), 1008)
})

test('a key that is revoked while its streams wait for their turn opens none', async () => {
  const { account, asked } = await aFollowedInbox()
  const { api } = account
  const key = async (): Promise<{ id: string; secret: string }> =>
    (await api.post('/v1/api-keys', { name: 'Test key', scopes: ['read'] })).body
  const [stolen, ...others] = await Promise.all([key(), key(), key(), key(), key()])
  const opened = await account.box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`lock table stream_slots in share mode`)
    // As many as may be opened at once.
    const first = others.flatMap(({ secret }) => [1, 2, 3, 4].map(() => followSocket({ ...asked, bearer: secret })))
    await delay(500)
    const waiting = [followEvents, followSocket].map(follow => follow({ ...asked, bearer: stolen!.secret }))
    await delay(200)
    assert.equal((await api.delete(`/v1/api-keys/${stolen!.id}`)).status, 204)
    return [...first, ...waiting]
  })
  const streams = await Promise.all(opened)
  for (const stream of streams) stream.close()
  const answers = streams.map(({ status }) => status)
  assert.deepEqual(answers, [...Array<number>(16).fill(101), 401, 401])
})

/** What the client sent before, such as a pong, has been read by the server when the server has answered this. */
async function isAnswered(socket: WebSocket): Promise<void> {
  socket.ping()
  await once(socket, 'pong')
}

test('every 25 seconds there is a ping, and a peer that does not answer it is cut', async t => {
  const { asked } = await aFollowedInbox()
  mock.timers.enable({ apis: ['setInterval'] })
  t.after(() => mock.timers.reset())
  const events = await followEvents(asked)
  const deaf = await followSocket(asked, { autoPong: false })
  const alive = await followSocket(asked)
  let pings = 0
  alive.socket.on('ping', () => (pings += 1))

  mock.timers.tick(24_999)
  assert.ok(!events.text().includes(': ping'))
  mock.timers.tick(1)
  await eventually('pings', async () => events.text().includes('\n: ping\n\n') && pings === 1)
  assert.ok(!deaf.isClosed())
  await isAnswered(alive.socket)
  mock.timers.tick(25_000)
  await eventually('a second ping', async () => pings === 2 && deaf.isClosed())
  await isAnswered(alive.socket)
  mock.timers.tick(25_000)
  await eventually('a third ping', async () => pings === 3 && !alive.isClosed())
  for (const stream of [events, alive]) stream.close()
})

test('a client that sends more than a stream listens to is cut', async () => {
  const { asked } = await aFollowedInbox()
  const [loud, huge, eager] = [await followSocket(asked), await followSocket(asked), await followSocket(asked)]
  loud.socket.send('hello')
  huge.socket.send('x'.repeat(100_000))
  await eventually('too long a message', async () => huge.isClosed())
  assert.equal(huge.closeCode(), 1009)
  assert.ok(!loud.isClosed())
  for (let n = 0; n < 40; n++) loud.socket.send('x'.repeat(2_000))
  await eventually('too many messages', async () => loud.isClosed())
  for (let n = 0; n < 700; n++) eager.socket.pong('x'.repeat(100))
  await eventually('too many answers', async () => eager.isClosed())
})
