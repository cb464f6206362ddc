// Large answers: a permit lasts until the answer was taken, and a client that does not take it is cut.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { until } from '../../../test/support/eventually.ts'
import fastify from 'fastify'
import { theBox } from '../../../test/support/box.ts'
import { createMetrics } from '../metrics.ts'
import type { KeyPrincipal } from '../principal.ts'
import { get, key, route } from './contract.ts'
import { LargeAnswers } from './large-answers.ts'
import { createHttpServer } from './server.ts'

const SOMEONE = { headers: { authorization: 'someone' } }
const BYTES = 16 * 1024 * 1024

const largeEndpoint = get('/', {
  operationId: 'getLarge',
  summary: 'A large answer',
  access: key('read'),
  isLargeRead: true,
  replies: { 200: { raw: 'text/plain' } },
})

/** The name of the owner is the key. */
async function aServer(t: TestContext, answerMs: number): Promise<{ port: number; begun: () => number }> {
  const { world } = (await theBox()).app
  let begun = 0
  const large = route(largeEndpoint, async () => {
    begun += 1
    return { status: 200, body: Buffer.alloc(BYTES) } as never
  })
  const app = createHttpServer(
    { ...world, metrics: createMetrics() },
    {
      routes: [large],
      largeAnswers: new LargeAnswers(answerMs),
      pages: LargeAnswers.ofPages(),
      identify: async ({ authorization = '' }) =>
        ({ kind: 'key', keyId: '', name: '', reach: { accountId: authorization } }) as KeyPrincipal,
    },
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  return { port: (app.server.address() as AddressInfo).port, begun: () => begun }
}

/** Asks and does not read. */
async function anUnreadRequest(t: TestContext, port: number, owner = 'someone'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${owner}\r\nConnection: close\r\n\r\n`)
  return socket
}

test('two answers of an owner are made at once; the next waits until one was read', async t => {
  const { port, begun } = await aServer(t, 60_000)
  const first = await anUnreadRequest(t, port)
  await anUnreadRequest(t, port)
  await until(() => begun() === 2)
  const read = fetch(`http://127.0.0.1:${port}/`, SOMEONE).then(reply => reply.arrayBuffer())
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.equal(begun(), 2)
  first.resume()
  assert.equal((await read).byteLength, BYTES)
})

test('owners that do not read keep no other one from its answer, and are cut when there are too many', async t => {
  const { port, begun } = await aServer(t, 60_000)
  const readBy = async (owner: string): Promise<number> =>
    (await (await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: owner } })).arrayBuffer()).byteLength
  const unread = async (owners: number): Promise<Socket[]> => {
    const sockets: Socket[] = []
    for (let n = 0; n < 2 * owners; n++) sockets.push(await anUnreadRequest(t, port, `deaf${n >> 1}`))
    return sockets
  }
  const few = await unread(8)
  await until(() => begun() === 16)
  assert.equal(await readBy('reader'), BYTES)

  for (const socket of few) socket.destroy()
  const many = await unread(32)
  await until(() => begun() === 16 + 1 + 64)
  assert.equal(await readBy('reader'), BYTES)

  const [oldest] = many
  oldest!.resume()
  if (!oldest!.closed) await once(oldest!, 'close')
  assert.ok(oldest!.bytesRead < BYTES)
})

test('a client that does not read is cut, and its permit is given back', async t => {
  const { port, begun } = await aServer(t, 300)
  const sockets = [await anUnreadRequest(t, port), await anUnreadRequest(t, port)]
  // Two more begin when both of these were cut.
  for (let more = 0; more < 2; more++) await anUnreadRequest(t, port)
  await until(() => begun() === 4)
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
    async () => (await (await fetch(`http://127.0.0.1:${port}/`, SOMEONE)).arrayBuffer()).byteLength,
  )
  assert.deepEqual(new Set(await Promise.all(answers)), new Set([BYTES]))
})
