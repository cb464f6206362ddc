// Replies that are streamed: at the pace of the reader, whole or visibly cut, and on behalf of their account.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import { createLog } from '../log.ts'
import { currentOwner, runFor } from '../owner.ts'
import { refuse } from '../refusal.ts'
import type { Chunks } from './contract.ts'
import { exactInteger } from './exact-integer.ts'
import { sendRaw } from './raw-reply.ts'

async function aServer(t: TestContext, chunks: () => Chunks | string): Promise<{ url: string; lines: string[] }> {
  const app = fastify()
  const lines: string[] = []
  const log = createLog('warn', { write: line => void lines.push(line) })
  app.get('/', async (_request, reply) => {
    await runFor('acme', () => sendRaw(log, reply, chunks(), ['text/x-first', 'text/x-other']))
    return reply
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  return { url: `${url}/`, lines }
}

test('text is sent at once, chunks one after the other, with the first type of the contract', async t => {
  const owners: (string | null)[] = []
  const { url } = await aServer(t, async function* () {
    for (const chunk of ['a', Buffer.from('b'), '', 'ç']) {
      await new Promise(resolve => setImmediate(resolve))
      owners.push(currentOwner())
      yield chunk
    }
  })
  const reply = await fetch(url)
  assert.equal(reply.headers.get('content-type'), 'text/x-first')
  assert.equal(await reply.text(), 'abç')
  assert.deepEqual(owners, ['acme', 'acme', 'acme', 'acme'])
  const whole = await aServer(t, () => 'text')
  assert.equal(await (await fetch(whole.url)).text(), 'text')
})

test('what fails before the first chunk is an answer, what fails later cuts the connection and is logged', async t => {
  const early = await aServer(t, async function* () {
    yield await Promise.reject(refuse('unavailable', 'Not now.'))
  })
  const late = await aServer(t, async function* () {
    yield 'begun'
    await new Promise(resolve => setImmediate(resolve))
    throw new Error('the database went away')
  })
  assert.equal((await fetch(early.url)).status, 503)
  const reply = await fetch(late.url)
  assert.equal(reply.status, 200)
  await assert.rejects(reply.text())
  assert.match(late.lines.join(''), /the database went away/)
})

test('no more is made than the reader takes, and nothing after it has left', async t => {
  let made = 0
  let hasEnded = false
  const { url } = await aServer(t, async function* () {
    try {
      for (;;) {
        made += 1
        yield Buffer.alloc(64 * 1024)
        await new Promise(resolve => setImmediate(resolve))
      }
    } finally {
      hasEnded = true
    }
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  let before = -1
  while (made === 0 || made !== before) {
    before = made
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  // What lies between: our buffers and those of the system.
  assert.ok(made < 400, `${made} chunks of 64 KB were made for a reader that reads nothing`)
  socket.destroy()
  for (let tries = 0; !hasEnded; tries++) {
    assert.ok(tries < 500, 'it ended in time')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
})

test('integers of any size are written digit by digit', () => {
  assert.equal(JSON.stringify({ n: exactInteger(9_007_199_254_740_991n) }), '{"n":9007199254740991}')
  assert.equal(JSON.stringify({ n: exactInteger(9_007_199_254_740_993n) }), '{"n":9007199254740993}')
  assert.equal(JSON.stringify([exactInteger(10n ** 30n + 1n)]), `[1${'0'.repeat(29)}1]`)
  assert.throws(() => exactInteger(-1n))
})
