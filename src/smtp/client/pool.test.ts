// Connections kept, limited, shared fairly and given back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aServer, type Answer, type FakeServer, type Session } from './fake-smtp.fixture.ts'
import type { TransportOptions } from './transport.ts'
import { until } from '../../../test/support/eventually.ts'
import { anEnvelope, aTransport, brief, routesTo } from './transport.fixture.ts'

/** A server that answers the content only when told to. */
function stalled(): { content: Answer; waiting: Session[]; release: () => void } {
  const waiting: Session[] = []
  const content: Answer = (_, session) => {
    waiting.push(session)
    return null
  }
  const release = (): void => {
    for (const { socket } of waiting.splice(0)) socket.write('250 2.0.0 Ok\r\n')
  }
  return { content, waiting, release }
}

const routesByDomain = (servers: Record<string, FakeServer>): Pick<TransportOptions, 'routes'> => ({
  routes: Object.entries(servers).map(([domain, { address, port }]) => ({ domain, host: address, port, auth: null })),
})

const times = <T>(count: number, act: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => act(index))
const briefs = (outcomes: Parameters<typeof brief>[0][][]): Set<string> => new Set(outcomes.flat().map(brief))
const to = (local: string | number): ReturnType<typeof anEnvelope> =>
  anEnvelope({ recipients: [`${local}@receiver.test`] })

test('messages one after the other share a connection, which says goodbye when it is no longer needed', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, { ...routesTo(server), idleMs: 60 })
  for (const index of [1, 2, 3]) await transport.send('receiver.test', to(index))

  assert.equal(server.messages.length, 3)
  assert.equal(server.sessions.length, 1)
  await until(() => server.open.size === 0)
  assert.equal(server.sessions[0]!.lines.at(-1), 'QUIT')
  assert.equal(transport.connectionsByHost().size, 0)
})

test('of several kept connections the one used last is taken first', async t => {
  const { content, waiting, release } = stalled()
  const server = await aServer(t, { answers: { content } })
  const transport = aTransport(t, routesTo(server))
  const both = [transport.send('receiver.test', to(1)), transport.send('receiver.test', to(2))]
  await until(() => waiting.length === 2)
  const [first, last] = waiting.splice(0)
  first!.socket.write('250 Ok\r\n')
  await Promise.race(both)
  last!.socket.write('250 Ok\r\n')
  await Promise.all(both)
  const third = transport.send('receiver.test', to(3))
  await until(() => waiting.length === 1)

  assert.equal(waiting[0], last)
  release()
  await third
})

test('a host never gets more connections than its limit, and waiting messages are served in their order', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 1 })
  const outcomes = await Promise.all(times(10, index => transport.send('receiver.test', to(index))))

  assert.deepEqual(briefs(outcomes), new Set(['delivered']))
  assert.equal(server.sessions.length, 1)
  assert.deepEqual(
    server.messages.map(message => message.to[0]),
    times(10, index => `${index}@receiver.test`),
  )
})

test('a connection is given up after its number of messages', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, { ...routesTo(server), messagesPerConnectionMax: 2, connectionsPerHostMax: 1 })
  await Promise.all(times(5, index => transport.send('receiver.test', to(index))))

  assert.deepEqual(
    server.sessions.map(({ counts }) => counts['MAIL']),
    [2, 2, 1],
  )
  assert.equal(server.sessions[0]!.lines.at(-1), 'QUIT')
})

test('a host that hangs does not delay another', async t => {
  const { content, waiting, release } = stalled()
  const slow = await aServer(t, { answers: { content } })
  const fast = await aServer(t)
  const routes = routesByDomain({ 'slow.test': slow, 'fast.test': fast })
  const transport = aTransport(t, { ...routes, connectionsPerHostMax: 2, connectionsMax: 3 })
  const hanging = times(6, index => transport.send('slow.test', to(index)))
  await until(() => waiting.length === 2)
  const outcomes = await Promise.all(times(6, index => transport.send('fast.test', to(index))))

  assert.deepEqual(briefs(outcomes), new Set(['delivered']))
  assert.equal(slow.sessions.length, 2)
  for (let served = 0; served < 6; served += 2) {
    await until(() => waiting.length === 2)
    release()
  }
  assert.deepEqual(briefs(await Promise.all(hanging)), new Set(['delivered']))
})

test('hosts that hang leave connections for one that does not', async t => {
  const { content, waiting, release } = stalled()
  const slow = await Promise.all([1, 2, 3].map(() => aServer(t, { answers: { content } })))
  const fast = await aServer(t)
  const routes = routesByDomain({ 'a.test': slow[0]!, 'b.test': slow[1]!, 'c.test': slow[2]!, 'fast.test': fast })
  const transport = aTransport(t, { ...routes, connectionsPerHostMax: 5, connectionsMax: 12, lineMs: 300 })
  const hanging = ['a.test', 'b.test', 'c.test'].flatMap(domain => times(8, index => transport.send(domain, to(index))))
  await until(() => waiting.length >= 10)
  assert.deepEqual(briefs([await transport.send('fast.test', to(1))]), new Set(['delivered']))
  const releasing = setInterval(release, 20)
  t.after(() => clearInterval(releasing))
  assert.ok(briefs(await Promise.all(hanging)).has('delivered'))
})

test('a message that waits too long for a connection is rejected, and those that are served are not', async t => {
  const { content, waiting, release } = stalled()
  const slow = await aServer(t, { answers: { content } })
  const transport = aTransport(t, { ...routesByDomain({ 'slow.test': slow }), connectionsPerHostMax: 2, lineMs: 200 })
  const served = times(2, index => transport.send('slow.test', to(index)))
  await until(() => waiting.length === 2)
  const line = await Promise.all(times(3, index => transport.send('slow.test', to(index))))

  assert.deepEqual(briefs(line), new Set(['waited_too_long']))
  release()
  assert.deepEqual(briefs(await Promise.all(served)), new Set(['delivered']))
  const next = transport.send('slow.test', to(9))
  await until(() => waiting.length === 1)
  release()
  assert.deepEqual(briefs([await next]), new Set(['delivered']))
})

test('when all connections are taken, one that rests is given up for a host that needs one', async t => {
  const [one, two] = [await aServer(t), await aServer(t)]
  const routes = routesByDomain({ 'one.test': one, 'two.test': two })
  const transport = aTransport(t, { ...routes, connectionsMax: 1, idleMs: 60_000 })
  await transport.send('one.test', to(1))
  const [outcome] = await transport.send('two.test', to(2))

  assert.equal(brief(outcome), 'delivered')
  assert.equal(one.sessions[0]!.lines.at(-1), 'QUIT')
})

test('when all connections are taken, hosts get the next ones in turn', async t => {
  const busy = await aServer(t)
  const others = [await aServer(t), await aServer(t)]
  const routes = routesByDomain({ 'busy.test': busy, 'other0.test': others[0]!, 'other1.test': others[1]! })
  const transport = aTransport(t, { ...routes, connectionsMax: 2, connectionsPerHostMax: 2 })
  let done = 0
  const backlog = times(200, index => transport.send('busy.test', to(index)).finally(() => (done += 1)))
  await until(() => busy.messages.length > 0)
  const late = times(2, index => transport.send(`other${index}.test`, to(index)))
  const outcomes = await Promise.all(late)

  assert.deepEqual(briefs(outcomes), new Set(['delivered']))
  assert.ok(done < 150, `${done} of the backlog were served first`)
  assert.deepEqual(briefs(await Promise.all(backlog)), new Set(['delivered']))
})

test('a signal ends waiting, for a place in line and for a connection, but not a transaction', async t => {
  const { content, waiting, release } = stalled()
  const server = await aServer(t, { answers: { content } })
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 1 })
  const abort = new AbortController()
  const running = transport.send('receiver.test', to(1), abort.signal)
  await until(() => waiting.length === 1)
  const inLine = times(3, index => transport.send('receiver.test', to(index), abort.signal))
  const other = transport.send('receiver.test', to('other'))
  abort.abort(new Error('enough'))

  for (const send of inLine) await assert.rejects(send, /enough/)
  await assert.rejects(transport.send('receiver.test', to(9), abort.signal), /enough/)
  release()
  assert.equal(brief((await running)[0]), 'delivered')
  await until(() => waiting.length === 1)
  release()
  assert.equal(brief((await other)[0]), 'delivered')
})

test('a connection that opens after its sender has gone serves the next', async t => {
  let greet: (() => void) | null = null
  const connect: Answer = (_, { socket }) => {
    greet = () => socket.write('220 at last\r\n')
    return null
  }
  const server = await aServer(t, { answers: { connect } })
  const transport = aTransport(t, routesTo(server))
  const abort = new AbortController()
  const gone = transport.send('receiver.test', to(1), abort.signal)
  await until(() => greet !== null)
  abort.abort(new Error('enough'))
  await assert.rejects(gone, /enough/)
  greet!()
  await until(() => server.sessions[0]!.lines.length > 0)
  await until(() => transport.connectionsByHost().get('127.0.0.1') === 1)
  const [outcome] = await transport.send('receiver.test', to(2))

  assert.equal(brief(outcome), 'delivered')
  assert.ok(server.messages[0]!.to[0] === '2@receiver.test')
})

test('a host that turns further connections away but serves the ones it has delays nothing and refuses nothing', async t => {
  const server: FakeServer = await aServer(t, {
    answers: {
      connect: (_, { socket }) => {
        if (server.open.size <= 2) return '220 welcome'
        socket.end('421 4.7.0 Too many connections\r\n')
        return null
      },
    },
  })
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 5 })
  const outcomes = await Promise.all(times(40, index => transport.send('receiver.test', to(index))))

  assert.deepEqual(briefs(outcomes), new Set(['delivered']))
  assert.equal(server.messages.length, 40)
  assert.ok(server.sessions.length < 12, `${server.sessions.length} connections were tried`)
})

test('a host that is down is found out once, not once per message', async t => {
  let attempts = 0
  const server = await aServer(t, {
    answers: {
      connect: (_, { socket }) => {
        attempts += 1
        socket.end('421 4.3.2 Shutting down\r\n')
        return null
      },
    },
  })
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 3 })
  const outcomes = await Promise.all(times(60, index => transport.send('receiver.test', to(index))))

  assert.deepEqual(briefs(outcomes), new Set(['refused greeting 421 4.3.2']))
  assert.ok(attempts <= 4, `${attempts} attempts`)
})

test('connections are counted by host', async t => {
  const { content, waiting, release } = stalled()
  const server = await aServer(t, { answers: { content } })
  const transport = aTransport(t, { ...routesTo(server), idleMs: 30 })
  const sends = times(3, index => transport.send('receiver.test', to(index)))
  await until(() => waiting.length === 3)

  assert.deepEqual(transport.connectionsByHost(), new Map([['127.0.0.1', 3]]))
  release()
  await Promise.all(sends)
  await until(() => transport.connectionsByHost().size === 0)
})

test('closing turns away who waits, finishes what runs, says goodbye, and refuses what comes later', async t => {
  const { content, waiting, release } = stalled()
  const server = await aServer(t, { answers: { content } })
  const transport = aTransport(t, { ...routesTo(server), connectionsPerHostMax: 1 })
  const running = transport.send('receiver.test', to(1))
  await until(() => waiting.length === 1)
  const inLine = transport.send('receiver.test', to(2))
  const closing = transport.close()

  await assert.rejects(inLine, /closed/)
  await assert.rejects(transport.send('receiver.test', to(3)), /closed/)
  release()
  assert.equal(brief((await running)[0]), 'delivered')
  await closing
  assert.equal(server.sessions[0]!.lines.at(-1), 'QUIT')
})

test('closing does not wait longer than it may', async t => {
  const server = await aServer(t, { answers: { content: null } })
  const transport = aTransport(t, { ...routesTo(server), timeouts: { closeMs: 50 } })
  const hanging = transport.send('receiver.test', to(1))
  await until(() => server.sessions[0]?.counts['content'] === 1)
  await transport.close()

  assert.equal(brief((await hanging)[0]), 'fault content')
})

test('closing cuts who has not the whole message sooner than who must only say what became of it', async t => {
  const early = await aServer(t, { answers: { RCPT: null } })
  const late = await aServer(t, { answers: { content: null } })
  const timeouts = { closeMs: 1_000, leaveMs: 50 }
  for (const { server, phase, ms } of [
    { server: early, phase: 'RCPT', ms: [0, 800] },
    { server: late, phase: 'content', ms: [950, 5_000] },
  ]) {
    const transport = aTransport(t, { ...routesTo(server), timeouts })
    const hanging = transport.send('receiver.test', to(1))
    await until(() => (server.sessions[0]?.counts[phase] ?? 0) > 0)
    const began = performance.now()
    await transport.close()
    const took = performance.now() - began
    assert.ok(took >= ms[0]! && took <= ms[1]!, `${phase}: ${took} ms`)
    assert.match(brief((await hanging)[0])!, /^fault/)
  }
})

test('a message that may not begin says nothing to anybody, and its connection serves the next', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, routesTo(server))
  const recipients = ['b@receiver.test', 'c@receiver.test']
  const mayBegin = async (): Promise<boolean> => {
    assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'], 'it is asked when the connection is at hand')
    return false
  }
  const withheld = await transport.send('receiver.test', anEnvelope({ recipients, mayBegin }))
  assert.deepEqual(withheld.map(brief), ['withheld', 'withheld'])
  assert.deepEqual(server.sessions[0]!.lines, ['EHLO sender.test'])

  const mayNotBeAsked = (): Promise<boolean> => Promise.reject(new Error('no answer'))
  const broken = transport.send('receiver.test', anEnvelope({ mayBegin: mayNotBeAsked }))
  await assert.rejects(broken, /no answer/)
  const [delivered] = await transport.send('receiver.test', anEnvelope())
  assert.equal(brief(delivered), 'delivered')
  assert.equal(server.sessions.length, 1)
})

test('a message whose kept connection was dead is asked about again before it begins on another', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, routesTo(server))
  await transport.send('receiver.test', to(1))
  const answers = [true, false]
  const mayBegin = async (): Promise<boolean> => {
    const answer = answers.shift()!
    if (answer) server.sessions[0]!.socket.destroy()
    return answer
  }
  const [outcome] = await transport.send('receiver.test', { ...to(2), mayBegin })

  assert.equal(brief(outcome), 'withheld')
  assert.deepEqual(answers, [])
  assert.equal(server.messages.length, 1)
})

test('a kept connection that was taken does not say goodbye while its message waits to be allowed', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, { ...routesTo(server), idleMs: 30 })
  await transport.send('receiver.test', to(1))
  const mayBegin = async (): Promise<boolean> => {
    await delay(120)
    return true
  }
  const [outcome] = await transport.send('receiver.test', { ...to(2), mayBegin })

  assert.equal(brief(outcome!), 'delivered')
  assert.equal(server.sessions.length, 1)
})

test('an owner whose receivers all hang gets half of the connections, and mail of another is sent', async t => {
  const { content, waiting, release } = stalled()
  const hanging = await Promise.all(times(6, () => aServer(t, { answers: { content } })))
  const well = await aServer(t)
  const servers = Object.fromEntries(hanging.map((server, index) => [`hanging${index}.test`, server] as const))
  const routes = routesByDomain({ ...servers, 'receiver.test': well })
  const transport = aTransport(t, { ...routes, connectionsMax: 6, lineMs: 10_000 })
  const stuck = Object.keys(servers).map(domain => transport.send(domain, { ...to('a'), owner: 'one' }))
  await until(() => waiting.length === 3)

  const outcomes = await transport.send('receiver.test', { ...to('b'), owner: 'another' })

  assert.deepEqual(outcomes.map(brief), ['delivered'])
  assert.equal(waiting.length, 3)
  release()
  await until(() => waiting.length === 3)
  release()
  assert.deepEqual(briefs(await Promise.all(stuck)), new Set(['delivered']))
})
