// Large answers: a permit lasts until the answer was taken, and a client that does not take it is cut.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import { LargeAnswers } from './large-answers.ts'

const BYTES = 32 * 1024 * 1024

async function aServer(t: TestContext, answerMs: number): Promise<{ port: number; begun: () => number }> {
  const app = fastify()
  const large = new LargeAnswers(answerMs)
  let begun = 0
  app.get('/', async (request, reply) => {
    await large.begin('someone', request, reply)
    begun += 1
    return Buffer.alloc(BYTES)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  return { port: (app.server.address() as AddressInfo).port, begun: () => begun }
}

/** Asks and does not read. */
async function anUnreadRequest(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  return socket
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert.ok(tries < 1_000, 'it happened in time')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

test('two answers of an owner are made at once; the next waits until one was read', async t => {
  const { port, begun } = await aServer(t, 60_000)
  const first = await anUnreadRequest(t, port)
  await anUnreadRequest(t, port)
  await until(() => begun() === 2)
  const read = fetch(`http://127.0.0.1:${port}/`).then(reply => reply.arrayBuffer())
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.equal(begun(), 2)
  first.resume()
  assert.equal((await read).byteLength, BYTES)
})

test('a client that does not read is cut, and its permit is given back', async t => {
  const { port, begun } = await aServer(t, 300)
  const sockets = [await anUnreadRequest(t, port), await anUnreadRequest(t, port)]
  await anUnreadRequest(t, port)
  await until(() => begun() === 3)
  for (const socket of sockets) {
    socket.resume()
    if (!socket.closed) await once(socket, 'close')
    assert.ok(socket.bytesRead < BYTES)
  }
})

test('a server that closes waits for its readers only so long', async t => {
  const app = fastify()
  const large = new LargeAnswers()
  app.addHook('preClose', async () => large.cutAfter(100))
  app.get('/', async (request, reply) => {
    await large.begin('someone', request, reply)
    return Buffer.alloc(BYTES)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const unread = await anUnreadRequest(t, (app.server.address() as AddressInfo).port)
  await once(unread, 'readable')
  const began = performance.now()
  await app.close()
  assert.ok(performance.now() - began < 5_000)
})

test('nothing is made for clients that have left while they waited', async t => {
  const { port, begun } = await aServer(t, 60_000)
  const unread = [await anUnreadRequest(t, port), await anUnreadRequest(t, port)]
  await until(() => begun() === 2)
  const gone = [await anUnreadRequest(t, port), await anUnreadRequest(t, port), await anUnreadRequest(t, port)]
  await new Promise(resolve => setTimeout(resolve, 50))
  for (const socket of gone) socket.destroy()
  await new Promise(resolve => setTimeout(resolve, 50))
  for (const socket of unread) socket.resume()
  await Promise.all(unread.map(socket => once(socket, 'close')))
  assert.equal(begun(), 2)
  // Their permits were given back, or nobody would be answered any more.
  const answers = [1, 2, 3, 4].map(
    async () => (await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer()).byteLength,
  )
  assert.deepEqual(new Set(await Promise.all(answers)), new Set([BYTES]))
})
