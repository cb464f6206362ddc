// Requests to URLs that a customer chose: whom they reach, and whom never.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { cidrList } from './cidr.ts'
import { objectionTo, safePost } from './safe-http.ts'

const LOOPBACK = cidrList(['127.0.0.0/8', '::1/128'])
const NOBODY = cidrList([])

async function aServer(t: TestContext, listener: RequestListener): Promise<{ port: number; requests: number }> {
  const state = { port: 0, requests: 0 }
  const server = createServer((request, response) => {
    state.requests += 1
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.port = (server.address() as AddressInfo).port
  return state
}

const post = (url: string, options: Partial<Parameters<typeof safePost>[0]> = {}) =>
  safePost({
    url,
    body: '{"a":1}',
    headers: {},
    timeoutMs: 2_000,
    responseBytesMax: 1_000,
    allow: LOOPBACK,
    ...options,
  })

test('a post arrives with its body and headers, and its status is told', async t => {
  let received = ''
  const { port } = await aServer(t, (request, response) => {
    received = `${request.method} ${request.url} ${String(request.headers['x-test'])} ${request.headers.host} `
    request.on('data', chunk => (received += String(chunk)))
    request.on('end', () => response.writeHead(202).end('thanks'))
  })
  const { status, latencyMs } = await post(`http://localhost:${port}/hook?x=1`, { headers: { 'x-test': 'yes' } })
  assert.equal(status, 202)
  assert.ok(latencyMs >= 0)
  assert.equal(received, `POST /hook?x=1 yes localhost:${port} {"a":1}`)
})

test('addresses that are not public are not connected to, in any spelling', async t => {
  const server = await aServer(t, (_request, response) => response.end())
  const hosts = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '0.0.0.0',
    '0x7f.1',
    '2130706433',
    '127.1',
    '[64:ff9b::7f00:1]',
    '169.254.169.254',
    '10.0.0.1',
  ]
  for (const host of hosts) {
    const url = `http://${host}:${server.port}/`
    await assert.rejects(post(url, { allow: NOBODY }), { name: 'ForbiddenAddress' }, host)
    assert.equal(await objectionTo(url, NOBODY), 'must be at a public address', host)
  }
  assert.equal(server.requests, 0)
})

test('what is no plain http URL is objected to', async () => {
  assert.match((await objectionTo('ftp://example.com/', LOOPBACK))!, /http/)
  assert.match((await objectionTo('nonsense', LOOPBACK))!, /http/)
  assert.match((await objectionTo('http://user:pass@127.0.0.1/', LOOPBACK))!, /password/)
  assert.equal(await objectionTo('http://127.0.0.1/', LOOPBACK), null)
})

test('a redirect is an answer and is not followed', async t => {
  const target = await aServer(t, (_request, response) => response.end())
  const { port } = await aServer(t, (_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end()
  })
  assert.equal((await post(`http://127.0.0.1:${port}/`)).status, 307)
  assert.equal(target.requests, 0)
})

test('who does not answer, answers without end, or drips, is cut off', async t => {
  const silent = await aServer(t, () => {})
  const endless = await aServer(t, (_request, response) => {
    response.writeHead(200)
    const write = (): void => {
      while (response.writable && response.write(Buffer.alloc(10_000)));
    }
    response.on('drain', write)
    write()
  })
  const dripping = await aServer(t, (_request, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(timer))
  })
  const began = performance.now()
  await assert.rejects(post(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 150 }), { name: 'TimeoutError' })
  assert.equal((await post(`http://127.0.0.1:${endless.port}/`)).status, 200)
  await assert.rejects(post(`http://127.0.0.1:${dripping.port}/`, { timeoutMs: 150 }), { name: 'TimeoutError' })
  assert.ok(performance.now() - began < 2_000)
})

test('who speaks no HTTP, or refuses the connection, is an error', async () => {
  const server = createTcpServer(socket => socket.resume().end('hello\r\n')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await assert.rejects(post(`http://127.0.0.1:${port}/`))
  server.close()
  await once(server, 'close')
  await assert.rejects(post(`http://127.0.0.1:${port}/`))
})
