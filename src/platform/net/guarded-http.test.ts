// One push against receivers that are slow, hostile or somewhere they should not be. Real sockets, short deadlines.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { after, before, test, type TestContext } from 'node:test'
import { aDnsServer, type FakeDns } from './dns.fixture.ts'
import { cidrList } from './cidr.ts'
import { Dns } from './dns.ts'
import { aCertificate, anAuthority } from '../../smtp/client/certificates.fixture.ts'
import { GuardedHttp, type GuardedHttpOptions, type PushResult } from './guarded-http.ts'
import { aReceiver, type Receiver } from './receiver.fixture.ts'

const LOOPBACK = cidrList(['127.0.0.0/8'])
const NOWHERE = cidrList([])
const FORBIDDEN = 'The URL leads to a private or loopback address, which is not called.'

let fakeDns: FakeDns
let receiver: Receiver
const clients: GuardedHttp[] = []

before(async () => {
  fakeDns = await aDnsServer()
  receiver = await aReceiver()
})

after(async () => {
  for (const client of clients) await client.close()
  await Promise.all([fakeDns.close(), receiver.close()])
})

function aClient(options: Partial<GuardedHttpOptions> = {}): GuardedHttp {
  const dns = new Dns({ servers: [fakeDns.address], timeoutMs: 500 })
  const client = new GuardedHttp({ dns, allowed: LOOPBACK, timeoutMs: 400, ...options })
  clients.push(client)
  return client
}

const push = (client: GuardedHttp, url: string): Promise<PushResult> =>
  client.push({ url: new URL(url), headers: { 'X-Service-Event': 'test' }, body: '{"id":1}' })

/** A server that does with its connections what the test says. */
async function aRawServer(t: TestContext, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Answers each request with these bytes. */
const answering =
  (bytes: string, then: (socket: Socket) => void = () => {}) =>
  (socket: Socket): void => {
    socket.on('data', () => {
      socket.write(bytes)
      then(socket)
    })
  }

test('2xx is success, anything else is not, and the status is told', async () => {
  const client = aClient()
  for (const status of [200, 201, 202, 204, 299, 301, 304, 400, 404, 410, 429, 500, 503]) {
    receiver.answer = (_request, response) => void response.writeHead(status).end()
    const result = await push(client, receiver.url)
    assert.equal(result.responseStatus, status)
    assert.equal(result.error === null, status < 300, `${status}: ${result.error}`)
  }
})

test('connections are kept and used again', async () => {
  receiver.answer = (_request, response) => void response.end('thank you')
  const client = aClient()
  const before = receiver.connections
  for (let n = 0; n < 20; n++) assert.equal((await push(client, receiver.url)).error, null)
  // Two are used alternately: the library leaves a connection idle for a moment before it uses it again.
  assert.ok(receiver.connections - before <= 2, `${receiver.connections - before} connections`)
})

test('a redirect is a failure and is not followed', async t => {
  const canary = await aReceiver()
  t.after(() => canary.close())
  receiver.answer = (_request, response) => void response.writeHead(307, { location: canary.url }).end()

  const result = await push(aClient(), receiver.url)

  assert.deepEqual([result.responseStatus, result.error], [307, 'Answered 307; redirects are not followed.'])
  assert.equal(canary.connections, 0)
})

test('a receiver that never answers fails at the deadline', async t => {
  const url = await aRawServer(t, () => {})
  const began = performance.now()

  const result = await push(aClient(), url)

  assert.deepEqual([result.responseStatus, result.error], [null, 'No complete answer within 0.4 seconds.'])
  assert.ok(performance.now() - began < 1_500)
  assert.ok(result.latencyMs >= 390 && result.latencyMs < 1_500)
})

test('headers or a body that drip in past the deadline are a failure, whatever the status was', async t => {
  const drip = (socket: Socket, text: string) => {
    const timer = setInterval(() => socket.write(text), 30)
    socket.on('close', () => clearInterval(timer))
  }
  const headers = await aRawServer(
    t,
    answering('HTTP/1.1 200 OK\r\n', socket => drip(socket, 'x-more: 1\r\n')),
  )
  const body = await aRawServer(
    t,
    answering('HTTP/1.1 200 OK\r\n\r\n', socket => drip(socket, 'x')),
  )
  const client = aClient()

  const [slowHeaders, slowBody] = await Promise.all([push(client, headers), push(client, body)])

  assert.match(slowHeaders.error ?? '', /^No complete answer/)
  assert.match(slowBody.error ?? '', /^No complete answer/)
  assert.equal(slowBody.responseStatus, 200)
})

test('of 100 MB only a little is read: the connection is cut and the status counts', async t => {
  let sent = 0
  const isCut = Promise.withResolvers<void>()
  const url = await aRawServer(
    t,
    answering('HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n', socket => {
      const chunk = Buffer.alloc(64 * 1024)
      const feed = (): void => {
        while (!socket.destroyed && sent < 104_857_600 && socket.write(chunk)) sent += chunk.length
      }
      socket.on('drain', feed)
      socket.on('close', () => isCut.resolve())
      feed()
    }),
  )

  const result = await push(aClient(), url)
  await isCut.promise

  assert.deepEqual([result.responseStatus, result.error], [200, null])
  assert.ok(sent < 20_000_000, `${sent} bytes were taken`)
})

test('a receiver that closes early, before or in its answer, is a failure', async t => {
  const atOnce = await aRawServer(t, socket => void socket.on('data', () => socket.end()))
  const reset = await aRawServer(t, socket => void socket.on('data', () => socket.resetAndDestroy()))
  const half = await aRawServer(
    t,
    answering('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', socket => socket.end()),
  )
  const client = aClient()
  for (const url of [atOnce, reset, half]) {
    const { error } = await push(client, url)
    assert.match(error ?? '', /^The connection was (closed|reset)/)
  }
})

test('answers that are no HTTP, and headers without end, are failures', async t => {
  const client = aClient()
  const garbage = await aRawServer(t, answering('220 mail.example.com ESMTP\r\n'))
  const endless = await aRawServer(t, answering(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(200_000)}`))

  assert.equal((await push(client, garbage)).error, 'The answer is no HTTP.')
  assert.equal((await push(client, endless)).error, 'The headers of the answer are too large.')
})

test('what comes before the answer (1xx) is not the answer', async t => {
  const url = await aRawServer(
    t,
    answering('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n'),
  )
  assert.equal((await push(aClient(), url)).responseStatus, 500)
})

test('a receiver that switches protocols is told so in plain words', async t => {
  const client = aClient()
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const bare = 'HTTP/1.1 101 Switching Protocols\r\n\r\n'
  const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
  for (const bytes of [upgrade, bare, upgrade + whole, bare + whole, `${upgrade}frames`, bare + bare]) {
    const url = await aRawServer(t, answering(bytes))
    const { responseStatus, error } = await push(client, url)
    assert.deepEqual([responseStatus, error], [null, 'The endpoint switched protocols.'], JSON.stringify(bytes))
  }
})

test('an answer that the library stumbles over shows nothing of it', async t => {
  const url = await aRawServer(t, answering('HTTP/1.1 099 What\r\n\r\n'))
  assert.equal((await push(aClient(), url)).error, 'The push failed.')
})

test('an answer is complete when all of it came, whatever it says', async t => {
  receiver.answer = (_request, response) => void response.writeHead(500).end('sorry')
  const half = await aRawServer(
    t,
    answering('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', socket => socket.end()),
  )
  const endless = await aRawServer(t, answering('HTTP/1.1 200 OK\r\n\r\nhalf'))
  const client = aClient()
  for (const [url, status, isComplete] of [
    [receiver.url, 500, true],
    [half, 200, false],
    [endless, 200, false],
  ] as const) {
    const result = await push(client, url)
    assert.deepEqual([result.responseStatus, result.isComplete], [status, isComplete])
  }
})

test('nobody listening is a failure', async () => {
  assert.equal((await push(aClient(), 'http://127.0.0.1:1/')).error, 'The connection was refused.')
})

test('https needs a certificate that is trusted and for that name', async t => {
  const authority = await anAuthority()
  const server = createHttpsServer(await aCertificate(['hook.example.com'], authority), (request, response) => {
    request.resume()
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  fakeDns.addresses('hook.example.com', '127.0.0.1')
  fakeDns.addresses('other.example.com', '127.0.0.1')
  const trusting = aClient({ trusted: [authority.cert] })

  assert.equal((await push(trusting, `https://hook.example.com:${port}/`)).error, null)
  assert.match((await push(trusting, `https://other.example.com:${port}/`)).error ?? '', /^The TLS connection failed/)
  assert.match((await push(aClient(), `https://hook.example.com:${port}/`)).error ?? '', /^The TLS connection failed/)
})

test('no spelling of a private address is connected to', async () => {
  const { port, connections } = receiver
  const client = aClient({ allowed: NOWHERE })
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '0',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00::1]',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '１２７.0.0.1',
  ]) {
    assert.deepEqual((await push(client, `http://${host}:${port}/`)).error, FORBIDDEN, host)
  }
  assert.equal(receiver.connections, connections)
})

test('a name that leads to a private address, alone or among others, is not connected to', async () => {
  const { port, connections } = receiver
  const client = aClient({ allowed: NOWHERE })
  fakeDns.addresses('private.example.com', '127.0.0.1')
  fakeDns.addresses('mixed.example.com', '93.184.215.14', '127.0.0.1')
  fakeDns.addresses('mapped.example.com', '::ffff:127.0.0.1')
  fakeDns.addresses('nat64.example.com', '64:ff9b::7f00:1')
  for (const name of ['private', 'mixed', 'mapped', 'nat64']) {
    for (const scheme of ['http', 'https']) {
      assert.equal((await push(client, `${scheme}://${name}.example.com:${port}/`)).error, FORBIDDEN, name)
    }
  }
  assert.equal(receiver.connections, connections)
})

test('every new connection looks its name up again: one that is led elsewhere meanwhile is refused', async () => {
  const name = 'rebinding.example.com'
  const allowed = cidrList(['127.0.0.1/32'])
  const url = `http://${name}:${receiver.port}/`
  receiver.answer = (_request, response) => void response.writeHead(200, { connection: 'close' }).end()
  const client = aClient({ allowed })
  fakeDns.addresses(name, '127.0.0.1')
  assert.equal((await push(client, url)).error, null)
  const { connections } = receiver

  fakeDns.addresses(name, '127.0.0.2')
  assert.equal((await push(client, url)).error, FORBIDDEN)

  fakeDns.addresses(name, '127.0.0.1')
  assert.equal((await push(client, url)).error, null)
  assert.equal(receiver.connections, connections + 1)
})

test('a name without an address and a resolver that fails are failures', async () => {
  fakeDns.breakDown('broken.example.com', 'SERVFAIL')
  fakeDns.breakDown('silent.example.com', 'silence')
  const client = aClient()
  assert.equal((await push(client, 'http://nowhere.example.com/')).error, 'The name of the host has no address.')
  assert.equal((await push(client, 'http://x.invalid/')).error, 'The name of the host has no address.')
  const { error } = await push(client, 'http://broken.example.com/')
  assert.equal(error, 'The name of the host could not be looked up (SERVFAIL).')
  assert.match((await push(client, 'http://silent.example.com/')).error ?? '', /^No complete answer/)
})

test('closing cuts what is under way', async t => {
  const url = await aRawServer(t, () => {})
  const client = aClient({ timeoutMs: 10_000 })
  const pushed = push(client, url)
  await new Promise(resolve => setTimeout(resolve, 50))
  await client.close()
  assert.notEqual((await pushed).error, null)
})
