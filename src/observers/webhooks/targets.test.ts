// Where webhooks may point: refused at creation, and refused again at each push when a name has moved. A canary listens
// on loopback; nothing may ever reach it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { aDnsServer, type FakeDns } from '../../platform/net/dns.fixture.ts'
import { aReceiver, type Receiver } from '../../platform/net/receiver.fixture.ts'

let dns: FakeDns
let canary: Receiver
let box: Box
let account: TestAccount

before(async () => {
  ;[dns, canary] = await Promise.all([aDnsServer(), aReceiver()])
  box = await aBox({ environment: { DNS_SERVERS: dns.address } })
  account = await anAccount({ box })
})

after(() => Promise.all([dns.close(), canary.close()]))

const create = (url: string) => account.api.post('/v1/webhooks', { url })

test('private and loopback targets are refused at creation, however they are written', async () => {
  for (const host of [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '0.0.0.0',
    'localhost',
    'localhost.',
    'api.localhost',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '168.63.129.16',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fd12::1]',
    '[ff02::1]',
    '[::ffff:10.0.0.1]',
    '[::ffff:a00:1]',
    '[64:ff9b::10.0.0.1]',
    '[64:ff9b:1::a00:1]',
    '[2002:a00:1::]',
    '[2001:db8::1]',
  ]) {
    for (const scheme of ['http', 'https']) {
      const { status, body } = await create(`${scheme}://${host}:${canary.port}/`)
      assert.equal(status, 400, host)
      assert.match(body.error.message, /public address/, host)
    }
  }
})

test('a URL without a host is refused, whatever the parser would make of it', async () => {
  const slips = [
    'http:///x',
    'https:////example.com/',
    'http:x',
    'http:/x',
    'http:\\\\x',
    'http://@x/',
    'http://?x',
    'http://',
  ]
  for (const url of slips) {
    const { status, body } = await create(url)
    assert.equal(status, 400, url)
    assert.equal(body.error.code, 'invalid_request', url)
  }
})

test('a URL with a control character, or a host that DNS cannot hold, is refused', async () => {
  const long = 'a'.repeat(64)
  const bad = [
    'https://example.com/a\r\nb',
    'https://exam\tple.com/',
    'https://example.com/\u0000',
    'https://example.com/\n',
  ]
  const unnameable = [
    `https://${long}.example.com/`,
    `https://${`${'a'.repeat(60)}.`.repeat(5)}com/`,
    'https://a..example.com/',
  ]
  for (const url of [...bad, 'https://example.com/\u2028', ...unnameable]) {
    const { status, body } = await create(url)
    assert.deepEqual([status, body.error?.code], [400, 'invalid_request'], JSON.stringify(url))
    const contact = await account.api.post('/v1/alert-contacts', { channel: 'webhook', target: url })
    assert.equal(contact.status, 400, JSON.stringify(url))
  }
  dns.addresses(`${long.slice(1)}.example.com`, '93.184.215.14')
  assert.equal((await create(`https://${long.slice(1)}.example.com./`)).status, 201)
})

test('a name that leads to a private address, also among public ones, is refused at creation', async () => {
  dns.addresses('private.example.com', '192.168.1.1')
  dns.addresses('mixed.example.com', '93.184.215.14', '10.0.0.1')
  dns.addresses('six.example.com', 'fd00::1')
  dns.addresses('mapped.example.com', '::ffff:127.0.0.1')
  for (const name of ['private', 'mixed', 'six', 'mapped']) {
    assert.equal((await create(`https://${name}.example.com/`)).status, 400, name)
  }
  dns.addresses('public.example.com', '93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c')
  assert.equal((await create('https://public.example.com/')).status, 201)
})

test('a name that leads nowhere yet is taken; the push says so', async () => {
  dns.breakDown('broken.example.com', 'SERVFAIL')
  for (const name of ['later.example.com', 'broken.example.com']) {
    const { status, body } = await create(`http://${name}/`)
    assert.equal(status, 201)
    const said = await account.api.post(`/v1/webhooks/${body.id}/test`)
    assert.equal(said.body.delivered, false)
    assert.match(said.body.error, /^The name of the host (has no address|could not be looked up)/)
  }
})

test('a name that moves to a private address after creation is not called: neither by a push nor by a test', async () => {
  const name = 'moves.example.com'
  dns.addresses(name, '93.184.215.14')
  const { status, body: webhook } = await create(`http://${name}:${canary.port}/`)
  assert.equal(status, 201)
  dns.addresses(name, '127.0.0.1')

  const said = await account.api.post(`/v1/webhooks/${webhook.id}/test`)
  await box.app.world.db.transact(system('test'), async tx => tx.record({ type: 'accepted', accountId: account.id }))
  const attempt = await eventually('it failed', async () => {
    const { attempts } = (await account.api.get(`/v1/webhooks/${webhook.id}/attempts?status=failed`)).body
    return attempts[0]
  })

  const error = 'The URL leads to a private or loopback address, which is not called.'
  assert.deepEqual([said.body.delivered, said.body.response_status, said.body.error], [false, null, error])
  assert.deepEqual([attempt.response_status, attempt.error], [null, error])
})

test('nothing has reached the canary', () => assert.equal(canary.connections, 0))
