// The HTTP machinery against bad input: always a clear 4xx in the one error shape, never a 500.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aBox, ADMIN_TOKEN, theBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'

const json = { 'content-type': 'application/json' }

async function raw(text: string): Promise<string> {
  const { url } = await theBox()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(text)
  let answer = ''
  socket.setEncoding('utf8').on('data', chunk => (answer += chunk))
  await once(socket, 'close')
  return answer
}

test('malformed JSON answers 400 invalid_json without quoting the body', async () => {
  const { api } = await anAccount()
  for (const body of ['{', '{"name": }', '{"name": "secret-canary"', 'nonsense', '{"a":1}{"b":2}', '\u0000']) {
    const reply = await api.request('POST', '/v1/tenants', { body })
    assert.equal(reply.status, 400, body)
    assert.equal(reply.body.error.code, 'invalid_json')
    assert.ok(!reply.body.error.message.includes('canary'))
  }
})

test('a missing body, another content type and form data answer 400 and say what to send', async () => {
  const { api } = await anAccount()
  assert.match((await api.request('POST', '/v1/tenants')).body.error.message, /JSON body is required/)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'nonsense',
    'application/jsonx',
  ]) {
    const { status, body } = await api.request('POST', '/v1/tenants', {
      body: 'a=b',
      headers: { 'content-type': type },
    })
    assert.equal(status, 400, type)
    assert.match(body.error.message, /Content-Type: application\/json/)
  }
})

test('an empty body is none, whatever the client calls it', async () => {
  const { api, bearer, box, tenants } = await anAccount()
  const path = `/v1/tenants/${tenants[0]!.id}/pause`
  for (const headers of [
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'text/plain' },
    {},
  ]) {
    const empty = new ReadableStream({ start: stream => stream.close() })
    for (const body of ['', empty]) {
      const request = {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${bearer}` },
        body,
        duplex: 'half',
      }
      const { status } = await fetch(`${box.url}${path}`, request as RequestInit)
      assert.ok(status === 200 || status === 201, `${JSON.stringify(headers)}: ${status}`)
    }
  }
  const named = await api.request('POST', '/v1/tenants', { body: '', headers: { 'content-type': 'text/plain' } })
  assert.match(named.body.error.message, /JSON body is required/)
})

test('ten megabytes of nesting is refused, and shallow nesting below the limit is not', async () => {
  const { api, bearer, box } = await anAccount()
  const deep = (depth: number) => `{"name":"x","external_id":"x","extra":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const huge = await fetch(`${box.url}/v1/tenants`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${bearer}` },
    body: '['.repeat(10 * 1024 * 1024),
  })
  assert.equal(huge.status, 413)
  assert.equal((await api.request('POST', '/v1/tenants', { body: deep(1000) })).body.error.code, 'invalid_json')
  assert.equal((await api.request('POST', '/v1/tenants', { body: deep(100_000) })).status, 400)
  assert.equal((await api.request('POST', '/v1/tenants', { body: deep(20) })).status, 201)
})

test('a body over 1 MiB answers 413 payload_too_large', async () => {
  const { api } = await anAccount()
  const { status, body } = await api.post('/v1/tenants', { name: 'x'.repeat(1024 * 1024), external_id: 'x' })
  assert.equal(status, 413)
  assert.equal(body.error.code, 'payload_too_large')
})

test('a client that is still sending when the body is refused reads the answer, and the connection serves the next', async () => {
  const { bearer, box } = await anAccount()
  const socket = connect(Number(new URL(box.url).port), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', chunk => (answer += String(chunk)))
  const head = `Host: x\r\nAuthorization: Bearer ${bearer}\r\nContent-Type: application/json\r\n`
  const size = 8 * 1024 * 1024
  socket.write(`POST /v1/tenants HTTP/1.1\r\n${head}Content-Length: ${size}\r\n\r\n`)
  for (let sent = 0; sent < size; sent += 1024 * 1024) {
    socket.write(Buffer.alloc(1024 * 1024, 'x'))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  socket.write(`GET /v1/tenants HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)
  await once(socket, 'close')
  assert.match(answer, /^HTTP\/1\.1 413 .*"payload_too_large".*HTTP\/1\.1 200 OK/s)
})

test('a request without Host is refused in the one shape, but for HTTP/1.0', async () => {
  assert.match(
    await raw('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 400 .*x-request-id: .*"code":"invalid_request","message":"A request needs a Host header\."/s,
  )
  assert.match(await raw('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 OK/)
})

test('who gives up while waiting for room does not keep it', async () => {
  const { api, bearer, box } = await anAccount()
  const announce = (bytes: number) => {
    const socket = connect(Number(new URL(box.url).port), '127.0.0.1')
    socket.on('error', () => {}).resume()
    const head = `Host: x\r\nAuthorization: Bearer ${bearer}\r\nContent-Type: application/json\r\n`
    socket.write(`POST /v1/messages HTTP/1.1\r\n${head}Content-Length: ${bytes}\r\n\r\n{`)
    return socket
  }
  const first = announce(40 * 1024 * 1024)
  await delay(100)
  const others = Array.from({ length: 6 }, () => announce(30_000_000))
  await delay(100)
  for (const socket of others) socket.destroy()
  await delay(100)
  first.destroy()
  const large = api.post('/v1/messages', { text: 'x'.repeat(400_000) })
  const late = delay(5_000, null, { ref: false }).then(() => assert.fail('a large request waits for ever'))
  assert.equal((await Promise.race([large, late])).status, 400)
})

test('a body without end is cut off', async () => {
  const { bearer, box } = await anAccount()
  const socket = connect(Number(new URL(box.url).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  const head = `Host: x\r\nAuthorization: Bearer ${bearer}\r\nContent-Type: application/json\r\n`
  socket.write(`POST /v1/tenants HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`)
  const megabyte = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1024 * 1024, 'x'), Buffer.from('\r\n')])
  let sent = 0
  for (; !socket.destroyed && sent < 200; sent++) {
    await new Promise(resolve => socket.write(megabyte, resolve))
  }
  assert.ok(sent < 100, `${sent} MB were taken`)
})

test('invalid UTF-8, NUL, lone surrogates and __proto__ are refused', async () => {
  const { api, box, bearer } = await anAccount()
  const bytes = Buffer.concat([
    Buffer.from('{"name":"'),
    Buffer.from([0xff, 0xc0]),
    Buffer.from('","external_id":"x"}'),
  ])
  const reply = await fetch(`${box.url}/v1/tenants`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${bearer}` },
    body: bytes,
  })
  assert.equal(reply.status, 400)
  for (const body of [
    '{"name":"a\\u0000b","external_id":"x"}',
    '{"name":"a\\ud800b","external_id":"x"}',
    '{"name":"a","external_id":"x","__proto__":{"admin":true}}',
    '{"name":"a","external_id":"x","deep":[{"__proto__":1}]}',
  ]) {
    assert.equal((await api.request('POST', '/v1/tenants', { body })).status, 400, body)
  }
  assert.equal(({} as { admin?: boolean }).admin, undefined)
})

test('a stranger cannot make the server read a body', async () => {
  const { box } = await anAccount()
  const reply = await box.client().post('/v1/tenants', { name: 'x'.repeat(900_000) })
  assert.equal(reply.status, 401)
})

test('unknown paths, absurd paths and malformed escapes answer 404', async () => {
  const { api } = await anAccount()
  for (const path of [
    '/v1/nothing',
    '/v2/tenants',
    '/v1/tenants/',
    '/V1/tenants',
    `/v1/tenants/${'x'.repeat(3000)}`,
    '/v1/tenants/%zz',
    '/v1/tenants/%00',
    '/v1/tenants/..%2f..%2fetc',
    '//',
    '/v1//tenants',
  ]) {
    const { status, body } = await api.get(path)
    assert.equal(status, 404, path)
    assert.equal(body.error.code, 'not_found', path)
  }
})

test('another method on a known path answers 405 and says which there are', async () => {
  const { api } = await anAccount()
  const { status, body, headers } = await api.request('PUT', '/v1/tenants')
  assert.equal(status, 405)
  assert.equal(body.error.code, 'method_not_allowed')
  assert.equal(headers.get('allow'), 'POST, GET, HEAD')
  assert.match(await raw('OPTIONS /v1/tenants HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 405 /)
  assert.match(await raw('PROPFIND /v1/tenants HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 405 /)
  assert.match(await raw('BREW /v1/tenants HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'), /^HTTP\/1\.1 400 /)
})

test('other methods are told by the path as it is: with ids, beside a query, never of a path that there is not', async () => {
  const { api } = await anAccount()
  const id = '01890a5d-ac96-774b-bcce-b302099a8057'
  const allowed = async (method: string, path: string) => (await api.request(method, path)).headers.get('allow')
  assert.equal(await allowed('PUT', `/v1/tenants/${id}?a=/v1`), 'GET, HEAD, PATCH')
  const head = await raw(`HEAD /v1/inboxes/${id}/ws HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  assert.match(head, /^HTTP\/1\.1 405 .*\r\nallow: GET\r\n/s, 'of a stream there is no head alone')
  for (const path of ['/v1/tenants/', '/v1//tenants', '/v1/nothing', `/v1/tenants/${id}/nothing`]) {
    assert.equal((await api.request('PUT', path)).status, 404, path)
  }
})

test('what is no HTTP, and headers without end, are answered in the same shape and closed', async () => {
  assert.match(
    await raw('HELO example.com\r\n\r\n'),
    /^HTTP\/1\.1 400 .*x-request-id: [0-9a-f-]{36}.*"code":"invalid_request"/s,
  )
  const endless = await raw(`GET /v1/tenants HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`)
  assert.match(endless, /^HTTP\/1\.1 431 .*"code":"invalid_request"/s)
  assert.match(
    await raw('POST /v1/tenants HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n'),
    /^HTTP\/1\.1 400/,
  )
})

test('malformed ids answer 404, in a body 400', async () => {
  const { api } = await anAccount()
  for (const id of ['1', 'null', '9007199254740993', "'--", '%20'])
    assert.equal((await api.get(`/v1/tenants/${id}`)).status, 404)
  assert.equal((await api.post('/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id: '7' })).status, 400)
})

test('numbers beyond every integer are refused', async () => {
  const { api, tenant } = await anAccount()
  for (const number of ['1e999', '1e400', '9223372036854775808', '-9223372036854775809', '0.1']) {
    const reply = await api.request('PATCH', `/v1/tenants/${tenant.id}`, { body: `{"quota_daily":${number}}` })
    assert.equal(reply.status, 400, number)
  }
})

test('the ignored fields header is bounded and safe whatever the fields are called', async () => {
  const { api, tenant } = await anAccount()
  const strange = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`füld\r\nset-cookie: ${n}`, n]))
  const { status, headers } = await api.patch(`/v1/tenants/${tenant.id}`, strange)
  assert.equal(status, 200)
  assert.equal(headers.get('set-cookie'), null)
  assert.ok(headers.get('x-service-ignored-fields')!.length <= 1100)
})

test('an unknown field may be called anything', async () => {
  const { api, tenant } = await anAccount()
  const { status, headers } = await api.patch(`/v1/tenants/${tenant.id}`, { '😀': 1, ä: 2 })
  assert.equal(status, 200)
  assert.equal(headers.get('x-service-ignored-fields'), '%F0%9F%98%80, %C3%A4')
})

test('days that are in no calendar are refused', async () => {
  const { api } = await anAccount()
  for (const day of ['2026-02-30', '2026-13-01', '2026-04-31', '2025-02-29']) {
    assert.equal((await api.get(`/v1/messages?since=${day}T00:00:00Z`)).status, 400, day)
  }
  assert.equal((await api.get('/v1/messages?since=2028-02-29T23:59:59%2B02:00')).status, 200)
})

test('every response carries its request id, also an error', async () => {
  const { client } = await theBox()
  const [first, second] = [await client().get('/v1/tenants'), await client().get('/nowhere')]
  assert.match(first.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/)
  assert.notEqual(first.headers.get('x-request-id'), second.headers.get('x-request-id'))
})

test('metrics are for loopback or the operator', async () => {
  const { client } = await theBox()
  const { status, body } = await client().get('/metrics')
  assert.equal(status, 200)
  assert.match(body, /^sluice_http_request_seconds_bucket/m)
  assert.match(body, /^sluice_tail_lag_events|^sluice_database_connections/m)
})

test('metrics are refused to callers through a proxy that is not trusted, but for the operator', async t => {
  const { url } = await theBox()
  const status = async (headers: Record<string, string>, base = url) =>
    (await fetch(`${base}/metrics`, { headers })).status
  for (const header of ['x-forwarded-for', 'x-real-ip', 'forwarded']) {
    for (const value of ['127.0.0.1', '203.0.113.9', '']) assert.equal(await status({ [header]: value }), 403, header)
    assert.equal(await status({ [header]: '203.0.113.9', 'x-admin-token': ADMIN_TOKEN }), 200)
  }
  const behind = await aBox({ until: t, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } })
  assert.equal(await status({ 'x-forwarded-for': '203.0.113.9' }, behind.url), 403)
  assert.equal(await status({}, behind.url), 200)
})

test('the reference page may load from its own host alone, and be shown in no frame', async () => {
  const { url } = await theBox()
  const page = await fetch(`${url}/docs/`)
  const policy = page.headers.get('content-security-policy')!
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/)
  const inline = /<script type="text\/javascript">([^]*?)<\/script>/.exec(await page.text())![1]!
  assert.ok(policy.includes(`'sha256-${createHash('sha256').update(inline).digest('base64')}'`))
  assert.ok((await fetch(`${url}/docs/js/scalar.js`)).headers.get('content-security-policy'))
  assert.equal((await fetch(`${url}/openapi.json`)).headers.get('content-security-policy'), null)
})

test('strangers who do not read the pages for everybody keep no other network from them', async t => {
  const box = await aBox({ until: t, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } })
  const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
  const { port } = new URL(box.url)
  const paths = ['/openapi.json', '/docs/js/scalar.js']
  for (let at = 0; at < 8; at++) {
    const socket = connect(Number(port), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(`GET ${paths[at % 2]} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.${at % 2}\r\n\r\n`)
    socket.pause()
  }
  await delay(200)
  for (const path of paths) {
    const began = performance.now()
    const answer = await fetch(`${box.url}${path}`, from('203.0.113.9'))
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
    assert.ok(performance.now() - began < 2_000)
  }
})

test('a request is logged once, with its route and without its query', async () => {
  const { client, logLines } = await theBox()
  const { headers } = await client().get('/v1/tenants?external_id=private')
  const id = headers.get('x-request-id')!
  const lines = logLines.filter(line => line.includes(id) && line.includes('"msg":"request"'))
  assert.equal(lines.length, 1)
  const line = JSON.parse(lines[0]!)
  assert.equal(line.route, '/v1/tenants')
  assert.equal(line.status, 401)
  assert.ok(!lines[0]!.includes('private'))
})
