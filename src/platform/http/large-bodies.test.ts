// Bodies that are large, slow, many or made to be costly: their sender gets a clear answer, and nobody else notices.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { sql } from '../db/sql.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { Refusal } from '../refusal.ts'
import { parseJsonBody } from './json-body.ts'
import { BodyReader } from './read-body.ts'

const MEGABYTE = 1024 * 1024

const message = (account: TestAccount, fields: object = {}): object => ({
  tenant_id: account.tenant.id,
  from: 'hello@acme.example',
  to: ['someone@example.com'],
  text: 'Hello there.',
  ...fields,
})

/** A POST of a message whose body never ends. */
async function anOpenPost(account: TestAccount, headers: string, sent: Buffer): Promise<Socket> {
  const { url } = await theBox()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.bearer}\r\n` +
      `Content-Type: application/json\r\n${headers}\r\n\r\n`,
  )
  socket.write(sent)
  return socket
}

test('40 MB of empty objects answer 400 and block the main thread for less than 250 ms', async () => {
  const account = await anAccount({ sandbox: true })
  // Bytes: turning a text into bytes would be the test's own work.
  const body = Buffer.from(`{"x":[${'{},'.repeat(13 * MEGABYTE)}{}]}`)
  const headers = { authorization: `Bearer ${account.bearer}`, 'content-type': 'application/json' }
  await account.api.get('/v1/tenants')
  let refused = new Response()

  const longestMs = await longestTurn(async () => {
    refused = await fetch(`${account.box.url}/v1/messages`, { method: 'POST', headers, body })
  })

  assert.equal(refused.status, 400)
  const { error } = (await refused.json()) as { error: { code: string; message: string } }
  assert.equal(error.code, 'invalid_json')
  assert.match(error.message, /values/)
  assert.ok(longestMs < 250, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('a caller who leaves before the permit of a large answer keeps nothing of what bodies may take', async () => {
  const account = await anAccount({ sandbox: true })
  const { url } = await theBox()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { x: 'x'.repeat(MEGABYTE - 1_000) } })
  for (let n = 0; n < 40; n++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    const head = `POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.bearer}\r\nAccept: application/json`
    socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`)
    await new Promise<void>(resolve => void socket.end(body, resolve))
    socket.destroy()
  }

  const sent = await account.api.post('/v1/messages', message(account, { text: 'x'.repeat(300 * 1024) }))

  assert.equal(sent.status, 202)
})

test('names of megabytes are shown by their beginning, and block the main thread for less than 250 ms', async () => {
  const account = await anAccount({ sandbox: true })
  const name = ' '.repeat(10 * MEGABYTE)
  const bodyOf = (fields: object): Buffer => Buffer.from(JSON.stringify(message(account, fields)))
  const bodies = [bodyOf({ [name]: 1 }), bodyOf({ headers: { [name]: 1 } })]
  const headers = { authorization: `Bearer ${account.bearer}`, 'content-type': 'application/json' }
  const answers: Response[] = []

  const longestMs = await longestTurn(async () => {
    for (const body of bodies)
      answers.push(await fetch(`${account.box.url}/v1/messages`, { method: 'POST', headers, body }))
  })

  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 400],
  )
  assert.equal(answers[0]!.headers.get('x-service-ignored-fields'), '%20'.repeat(100))
  assert.ok((await answers[1]!.text()).length < 1_000)
  assert.ok(longestMs < 250, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})

test('a large body is checked like a small one: unknown fields are named, wrong ones refused by their path', async () => {
  const account = await anAccount({ sandbox: true })
  const text = 'x'.repeat(MEGABYTE)

  const taken = await account.api.post('/v1/messages', message(account, { text, surprise: [1, 2] }))
  const wrong = await account.api.post('/v1/messages', message(account, { text, cc: [7] }))
  const broken = await account.api.request('POST', '/v1/messages', { body: `{"text": "${text}"` })
  const nul = await account.api.post('/v1/messages', message(account, { text, subject: 'a\0b' }))

  assert.deepEqual([taken.status, taken.headers.get('x-service-ignored-fields')], [202, 'surprise'])
  assert.equal(wrong.status, 400)
  assert.match(wrong.body.error.message, /cc\[0\]/)
  assert.deepEqual([broken.status, broken.body.error.code], [400, 'invalid_json'])
  assert.equal(nul.status, 422)
})

test('connections that announce large bodies and send little keep nobody out', async () => {
  const [hostile, victim] = await Promise.all([anAccount({ sandbox: true }), anAccount({ sandbox: true })])
  const sockets = await Promise.all([
    anOpenPost(hostile, `Content-Length: ${40 * MEGABYTE}`, Buffer.from('{"text":"')),
    anOpenPost(hostile, `Content-Length: ${24 * MEGABYTE}`, Buffer.from('{"text":"')),
    anOpenPost(hostile, 'Transfer-Encoding: chunked', Buffer.from('9\r\n{"text":"\r\n')),
  ])

  const began = performance.now()
  const { status } = await victim.api.post('/v1/messages', message(victim, { text: 'x'.repeat(300 * 1024) }))

  assert.equal(status, 202)
  assert.ok(performance.now() - began < 5_000)
  for (const socket of sockets) socket.destroy()
})

test('connections that really keep 60 MB of unfinished bodies keep nobody out', async () => {
  const [hostile, victim] = await Promise.all([anAccount({ sandbox: true }), anAccount({ sandbox: true })])
  const piece = Buffer.alloc(20 * MEGABYTE, 'x')
  const sockets = await Promise.all(
    Array.from({ length: 4 }, () => anOpenPost(hostile, `Content-Length: ${40 * MEGABYTE}`, piece)),
  )
  // What fits is read, the rest stays in the sockets.
  await Promise.race([
    Promise.all(sockets.map(socket => once(socket, 'drain'))),
    new Promise(resolve => setTimeout(resolve, 1_000)),
  ])

  const { status } = await victim.api.post('/v1/messages', message(victim, { text: 'x'.repeat(300 * 1024) }))

  assert.equal(status, 202)
  for (const socket of sockets) socket.destroy()
})

test('bodies of many accounts that fill the memory and go silent keep nobody out', async () => {
  const victim = await anAccount({ sandbox: true })
  const hostile = await Promise.all(Array.from({ length: 10 }, () => anAccount({ sandbox: true })))
  const piece = Buffer.alloc(MEGABYTE, 'x')
  const sockets: Socket[] = []
  // One after the other: each takes its share of what the earlier ones have left, until it is no longer read.
  for (const account of hostile) {
    const socket = await anOpenPost(account, `Content-Length: ${40 * MEGABYTE}`, piece)
    sockets.push(socket)
    for (let sent = 1, isRead = true; isRead && sent < 38; sent++) {
      const written = new Promise(resolve => socket.write(piece, () => resolve(true)))
      isRead = (await Promise.race([written, new Promise(resolve => setTimeout(resolve, 200, false))])) as boolean
    }
  }
  const began = performance.now()

  const { status } = await victim.api.post('/v1/messages', message(victim, { text: 'x'.repeat(300 * 1024) }))

  assert.equal(status, 202)
  assert.ok(performance.now() - began < 5_000)
  for (const socket of sockets) socket.destroy()
})

test('while memory is short a silent body makes room for one that waits, and its caller may try again', async () => {
  const reader = new BodyReader({ bytesMax: 200_000, stalledMs: 50 })
  const options = { bytesMax: MEGABYTE, announcedBytes: null }
  const silent = new PassThrough()
  const refused = reader.read({ ...options, stream: silent, owner: 'a' })
  silent.write(Buffer.alloc(300_000))
  const stream = new PassThrough()
  const whole = reader.read({ ...options, stream, owner: 'b' })
  for (let n = 0; n < 20; n++) stream.write(Buffer.alloc(20_000))
  stream.end()

  await assert.rejects(refused, (error: unknown) => error instanceof Refusal && error.code === 'unavailable')

  assert.equal((await whole).bytes.length, 400_000)
})

test('a body that comes too slowly is given up, and one that waits for room is not', async () => {
  const reader = new BodyReader({ bytesMax: 100_000, slowWindowMs: 50 })
  const options = { bytesMax: MEGABYTE, announcedBytes: null }
  const slow = new PassThrough()
  const given = reader.read({ ...options, stream: slow, owner: 'a' })
  slow.write('a few bytes')

  await assert.rejects(given, (error: unknown) => error instanceof Refusal && /slowly/.test(error.message))

  const first = new PassThrough()
  const second = new PassThrough()
  const whole = reader.read({ ...options, stream: first, owner: 'a' })
  first.end(Buffer.alloc(90_000))
  const { release } = await whole
  const waiting = reader.read({ ...options, stream: second, owner: 'a' })
  second.end(Buffer.alloc(90_000))
  // Longer than the window and the interval at which time is looked at.
  await new Promise(resolve => setTimeout(resolve, 1_200))
  release()
  assert.equal((await waiting).bytes.length, 90_000)
})

test('a body in chunks of one byte costs about its own size', async () => {
  const reader = new BodyReader()
  const stream = new PassThrough({ highWaterMark: 16 })
  const bytes = 300_000
  const before = process.memoryUsage()

  const whole = reader.read({ stream, bytesMax: MEGABYTE, announcedBytes: null, owner: 'a' })
  for (let n = 0; n < bytes; n++) {
    if (!stream.write(Buffer.from('x'))) await new Promise(resolve => setImmediate(resolve))
  }
  const after = process.memoryUsage()
  stream.end()

  assert.equal((await whole).bytes.length, bytes)
  const keptMb = (after.heapUsed + after.external - before.heapUsed - before.external) / 1e6
  assert.ok(keptMb < 60, `${keptMb.toFixed(0)} MB for 0.3 MB of body`)
})

test('a body of any size arrives as it was sent, announced or not', async () => {
  const reader = new BodyReader()
  for (const size of [1, 16_384, 65_536, 65_537, 327_681, 1_000_003]) {
    for (const announcedBytes of [size, null]) {
      const sent = randomBytes(size)
      const stream = new PassThrough()
      const whole = reader.read({ stream, bytesMax: 1_000_003, announcedBytes, owner: 'a' })
      for (let at = 0; at < size; at += 50_000) stream.write(sent.subarray(at, at + 50_000))
      stream.end()
      const { bytes, release } = await whole
      assert.ok(bytes.equals(sent), `${size} bytes, announced: ${announcedBytes !== null}`)
      release()
    }
  }
})

test('a caller who hangs up does not get the room of its body back while the body is worked on', async () => {
  const account = await anAccount({ sandbox: true })
  const { db } = account.box.app.world
  const before = await db.many(sql`select id from messages where account_id = ${account.id}`)
  const body = JSON.stringify(message(account, { text: 'x'.repeat(5 * MEGABYTE) }))
  const socket = await anOpenPost(account, `Content-Length: ${body.length}`, Buffer.from(body))
  await once(socket, 'drain')
  socket.destroy()

  await eventually('the message is accepted all the same', async () => {
    const rows = await db.many(sql`select id from messages where account_id = ${account.id}`)
    return rows.length > before.length
  })
})

test('quotes and escapes in texts do not count as values', () => {
  const texts = Array.from({ length: 1_000 }, (_, n) => `${'[{,'.repeat(500)}\\"\\\\${n}`)
  const body = Buffer.from(JSON.stringify({ texts }))
  assert.ok(body.length > MEGABYTE)
  assert.deepEqual(parseJsonBody(body), { texts })
})
