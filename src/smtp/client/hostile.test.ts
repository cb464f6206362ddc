// Servers that hang, vanish, babble or answer out of turn: each gives an outcome in time, and no message is sent twice
// by us when it may have arrived.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { aServer, type Answer, type Session } from './fake-smtp.fixture.ts'
import type { Phase, Timeouts } from './transport.ts'
import { until } from '../../../test/support/eventually.ts'
import { anEnvelope, aTransport, brief, routesTo } from './transport.fixture.ts'

const PHASES: [verb: string, phase: Phase, timeout: keyof Timeouts][] = [
  ['connect', 'greeting', 'greetingMs'],
  ['EHLO', 'hello', 'commandMs'],
  ['MAIL', 'mail', 'commandMs'],
  ['RCPT', 'rcpt', 'commandMs'],
  ['DATA', 'data', 'dataMs'],
  ['content', 'content', 'contentMs'],
]
/** Long enough that the steps before the one that hangs are over, on a busy machine too. */
const SHORT_MS = 400

const drop = (_: string, { socket }: Session): void => void socket.destroy()
const reset = (_: string, { socket }: Session): void => void socket.resetAndDestroy()
const finish = (_: string, { socket }: Session): void => void socket.end()

for (const extensions of [['PIPELINING'], []]) {
  const how = extensions.length > 0 ? 'pipelined' : 'step by step'

  test(`a connection that breaks instead of a reply is a passing fault, at every step, ${how}`, async t => {
    for (const [verb, phase] of PHASES) {
      for (const answer of [drop, reset, finish]) {
        const server = await aServer(t, { extensions, answers: { [verb]: answer } })
        const transport = aTransport(t, routesTo(server))
        const [outcome] = await transport.send('receiver.test', anEnvelope())

        // A reset can be seen before the connection itself is.
        assert.match(brief(outcome), verb === 'connect' ? /^fault (connect|greeting)$/ : new RegExp(`^fault ${phase}$`))
        assert.equal(server.sessions.length, 1, 'a fresh connection is not tried twice')
        await until(() => transport.connectionsByHost().size === 0)
      }
    }
  })

  test(`silence instead of a reply ends by time-out, at every step, ${how}`, async t => {
    const attempts = PHASES.map(async ([verb, phase, timeout]) => {
      const server = await aServer(t, { extensions, answers: { [verb]: null } })
      const transport = aTransport(t, { ...routesTo(server), timeouts: { [timeout]: SHORT_MS } })
      const [outcome] = await transport.send('receiver.test', anEnvelope())

      assert.equal(brief(outcome), `fault ${phase}`)
      assert.match(outcome!.kind === 'fault' ? outcome!.reason : '', /did not answer in time/)
      await until(() => server.open.size === 0)
    })
    await Promise.all(attempts)
  })
}

test('bytes that drip for ever instead of a reply end by time-out, at every step', async t => {
  const drip: Answer = (_, session) => {
    const { socket } = session
    session.isMute = true
    const timer = setInterval(() => socket.write('250-x\r\n'), 5)
    socket.on('close', () => clearInterval(timer))
    return null
  }
  const attempts = PHASES.map(async ([verb, phase, timeout]) => {
    const server = await aServer(t, { answers: { [verb]: drip } })
    const timeouts = { [timeout]: SHORT_MS }
    const [outcome] = await aTransport(t, { ...routesTo(server), timeouts }).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), `fault ${phase}`)
  })
  await Promise.all(attempts)
})

test('garbage instead of a reply is a fault and drops the connection, at every step', async t => {
  const GARBAGE = ['HTTP/1.1 400 Bad Request', '', '25', '999 what', '250_Ok', '\u0000\u0001\u0002', '250-a\n550 b']
  for (const [verb, phase] of PHASES) {
    for (const garbage of GARBAGE) {
      const server = await aServer(t, { answers: { [verb]: garbage } })
      const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
      assert.equal(brief(outcome), `fault ${phase}`, `${verb}: ${JSON.stringify(garbage)}`)
      await until(() => server.open.size === 0)
    }
  }
})

test('a reply code that fits no step is a fault', async t => {
  const cases: [verb: string, reply: string, phase: Phase][] = [
    ['connect', '354 go', 'greeting'],
    ['EHLO', '354 go', 'hello'],
    ['MAIL', '354 go', 'mail'],
    ['RCPT', '354 go', 'rcpt'],
    ['DATA', '250 ok', 'data'],
    ['content', '354 go', 'content'],
  ]
  for (const [verb, reply, phase] of cases) {
    const server = await aServer(t, { answers: { [verb]: reply } })
    const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), `fault ${phase}`, verb)
  }
})

test('a line without end, a reply without end, and a reply that is only large', async t => {
  const cases: [reply: string, outcome: string][] = [
    [`250 ${'x'.repeat(5_000)}`, 'fault mail'],
    [Array.from({ length: 70 }, () => `250-${'x'.repeat(1_000)}`).join('\n'), 'fault mail'],
    [`${Array.from({ length: 50 }, () => `250-${'x'.repeat(1_000)}`).join('\n')}\n250 done`, 'delivered'],
  ]
  for (const [reply, expected] of cases) {
    const server = await aServer(t, { answers: { MAIL: reply } })
    const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
    assert.equal(brief(outcome), expected)
  }
})

test('a server that answers what was not asked yet is not believed', async t => {
  const early = { connect: '220 hello\n250 Ok\n250 Ok\n354 go\n250 taken' }
  const server = await aServer(t, { answers: early })
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'fault hello')

  const eager = await aServer(t, { answers: { DATA: '354 go\n250 taken' } })
  const [untrue] = await aTransport(t, routesTo(eager)).send('receiver.test', anEnvelope())
  assert.equal(brief(untrue), 'fault content')
})

test('a server with many recipients cannot use up the time of each of them', async t => {
  const RCPT: Answer = (_, session) => {
    setTimeout(() => session.socket.write('250 Ok\r\n'), 100 * session.counts['RCPT']!).unref()
    return null
  }
  const server = await aServer(t, { answers: { RCPT, DATA: null } })
  const recipients = Array.from({ length: 50 }, (_, index) => `r${index}@receiver.test`)
  const transport = aTransport(t, { ...routesTo(server), timeouts: { envelopeMs: 400 } })
  const outcomes = await transport.send('receiver.test', anEnvelope({ recipients }))

  assert.equal(outcomes.length, 50)
  assert.deepEqual(new Set(outcomes.map(brief)), new Set(['fault rcpt']))
  assert.ok(outcomes.every(outcome => outcome.kind === 'fault' && /in time/.test(outcome.reason)))
  assert.ok(server.sessions[0]!.counts['RCPT'] === 50)
})

test('a receiver that stops reading a large message is given up after the time of one block', async t => {
  const DATA: Answer = (_, { socket }) => {
    socket.pause()
    return '354 Go'
  }
  const server = await aServer(t, { extensions: ['PIPELINING'], answers: { DATA } })
  const transport = aTransport(t, { ...routesTo(server), timeouts: { blockMs: SHORT_MS } })
  const source = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(300_000))
  const [outcome] = await transport.send('receiver.test', anEnvelope({ source }))
  assert.equal(brief(outcome), 'fault content')
})

test('a kept connection that the server has closed is replaced without a word', async t => {
  for (const how of [drop, reset, finish]) {
    const server = await aServer(t)
    const transport = aTransport(t, routesTo(server))
    await transport.send('receiver.test', anEnvelope())
    how('', server.sessions[0]!)
    const [outcome] = await transport.send('receiver.test', anEnvelope())

    assert.equal(brief(outcome), 'delivered')
    assert.equal(server.sessions.length, 2)
    assert.equal(server.messages.length, 2)
  }
})

test('a kept connection that dies at MAIL, or answers 421 to it, is replaced once', async t => {
  const goodbye: Answer = (_, { socket }) => void socket.end('421 4.4.2 Idle too long\r\n')
  for (const end of [drop, reset, goodbye] as Exclude<Answer, string | null>[]) {
    const MAIL: Answer = (line, session) => (session.counts['MAIL'] === 2 ? end(line, session) : '250 Ok')
    const server = await aServer(t, { answers: { MAIL } })
    const transport = aTransport(t, routesTo(server))
    await transport.send('receiver.test', anEnvelope())
    const [outcome] = await transport.send('receiver.test', anEnvelope())

    assert.equal(brief(outcome), 'delivered')
    assert.equal(server.sessions.length, 2)
    assert.equal(server.messages.length, 2)
  }
})

test('a connection that was kept before its first message is replaced just the same', async t => {
  const MAIL: Answer = (line, session) => (session.id === 0 ? drop(line, session) : '250 Ok')
  const server = await aServer(t, { answers: { MAIL } })
  const transport = aTransport(t, routesTo(server))
  await transport.send('receiver.test', anEnvelope({ mayBegin: async () => false }))
  const [outcome] = await transport.send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'delivered')
  assert.equal(server.sessions.length, 2)
})

test('a server that says 421 while nothing is asked loses nothing', async t => {
  const server = await aServer(t)
  const transport = aTransport(t, routesTo(server))
  await transport.send('receiver.test', anEnvelope())
  server.sessions[0]!.socket.write('421 4.4.2 Idle too long\r\n')
  await until(() => transport.connectionsByHost().size === 0)
  const [outcome] = await transport.send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'delivered')
})

test('421 to MAIL on a fresh connection is a refusal, not a reason to try again', async t => {
  const server = await aServer(t, { answers: { MAIL: '421 4.7.0 Go away' } })
  const [outcome] = await aTransport(t, routesTo(server)).send('receiver.test', anEnvelope())
  assert.equal(brief(outcome), 'refused mail 421 4.7.0')
  assert.equal(server.sessions.length, 1)
})

test('a connection that breaks after the dot is a fault even if it was kept: the message may have arrived', async t => {
  const content: Answer = (line, session) => (session.counts['content'] === 2 ? drop(line, session) : '250 Ok')
  const server = await aServer(t, { answers: { content } })
  const transport = aTransport(t, routesTo(server))
  await transport.send('receiver.test', anEnvelope())
  const [outcome] = await transport.send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'fault content')
  assert.equal(server.sessions.length, 1)
})

test('hundreds of messages and dozens of broken connections leave no listener behind', async t => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const MAIL: Answer = (line, session) => (session.counts['MAIL'] === 20 ? drop(line, session) : '250 Ok')
  const server = await aServer(t, { answers: { MAIL } })
  const transport = aTransport(t, routesTo(server))
  const { signal } = new AbortController()
  const sends = Array.from({ length: 400 }, () => transport.send('receiver.test', anEnvelope(), signal))
  const outcomes = (await Promise.all(sends)).flat()
  await new Promise(resolve => setImmediate(resolve))

  assert.deepEqual(new Set(outcomes.map(brief)), new Set(['delivered']))
  assert.deepEqual(warnings, [])
})

test('a port where nobody listens is a passing fault', async t => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  await once(listener, 'close')
  const routes = [{ domain: '*', host: '127.0.0.1', port, auth: null }]
  const [outcome] = await aTransport(t, { routes }).send('receiver.test', anEnvelope())

  assert.equal(brief(outcome), 'fault connect')
  assert.match(outcome!.kind === 'fault' ? outcome!.reason : '', /refused the connection/)
})
