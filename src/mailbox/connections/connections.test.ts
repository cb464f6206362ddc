// Connecting a mailbox at Google or Microsoft, against a stand-in that checks what they check; and ending the connection.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aBox, theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { anOAuthProvider, CLIENT_SECRET, type OAuthStandIn } from '../../../test/support/oauth.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'

const CALLBACK = '/v1/inboxes/connect/callback'

let oauth: OAuthStandIn
let box: Box
let account: TestAccount

before(async () => {
  oauth = await anOAuthProvider()
  const environment = {
    ROLES: 'api',
    PUBLIC_URL: 'https://mail.example',
    WEB_APP_URL: 'https://app.example',
    ...oauth.environment,
  }
  box = await theBox({ environment })
  account = await anAccount({ box })
})
after(() => oauth.close())

const begin = (inboxId: string, provider = 'google') => account.api.post(`/v1/inboxes/${inboxId}/connect/${provider}`)

/** The query with which the browser comes back. */
async function agreed(inboxId: string, provider = 'google'): Promise<string> {
  const { status, body } = await begin(inboxId, provider)
  assert.equal(status, 200, JSON.stringify(body))
  return oauth.agree(body.auth_url)
}

async function connected(email = `${unique('ann')}@example.com`): Promise<{ inboxId: string; email: string }> {
  const inboxId = await anInbox(account)
  oauth.email = email
  const { status, headers } = await box.client().get(CALLBACK + (await agreed(inboxId)))
  assert.equal(status, 302)
  assert.equal(headers.get('location'), `https://app.example/inboxes/${inboxId}?connected=google`)
  return { inboxId, email }
}

const inboxOf = async (id: string) => (await account.api.get(`/v1/inboxes/${id}`)).body
const auditOf = async (action: string, inboxId: string) => {
  const { entries } = (await account.api.get(`/v1/audit?action=${action}`)).body
  return entries.filter((entry: { target: { id: string } }) => entry.target.id === inboxId)
}

/** Where the browser is sent when nothing was connected. */
async function obstacleAfter(query: string, inboxId: string): Promise<string> {
  const { status, headers } = await box.client().get(CALLBACK + query)
  assert.equal(status, 302)
  const location = new URL(headers.get('location')!)
  assert.equal(`${location.origin}${location.pathname}`, `https://app.example/inboxes/${inboxId}`)
  assert.equal((await inboxOf(inboxId)).provider, 'native')
  return location.searchParams.get('connect_error')!
}

test('the browser is sent to the provider with PKCE, a state and a nonce, and asks for mail and a refresh token', async () => {
  const inboxId = await anInbox(account)
  const { status, body } = await begin(inboxId)
  assert.equal(status, 200)
  const asked = Object.fromEntries(new URL(body.auth_url).searchParams)
  assert.equal(asked['redirect_uri'], `https://mail.example${CALLBACK}`)
  assert.equal(asked['scope'], 'openid email https://mail.google.com/')
  assert.equal(asked['code_challenge_method'], 'S256')
  assert.equal(asked['access_type'], 'offline')
  assert.equal(asked['tenant'], 'common', 'what the operator put into the URL stays')
  const microsoft = new URL((await begin(inboxId, 'microsoft')).body.auth_url).searchParams
  assert.match(microsoft.get('scope')!, /offline_access .*IMAP\.AccessAsUser\.All .*SMTP\.Send/)
  const [entry] = await auditOf('inbox.authorize', inboxId)
  assert.ok(entry && !JSON.stringify(entry).includes(asked['state']!))
})

test('a mailbox is connected: the inbox shows it, its stream and the audit log tell of it, and its tokens are sealed', async () => {
  const { inboxId, email } = await connected('Ann.Lee@Example.com')
  const inbox = await inboxOf(inboxId)
  assert.equal(inbox.provider, 'google')
  assert.deepEqual(inbox.connection, {
    address: email.toLowerCase(),
    state: 'syncing',
    last_sync_at: null,
    messages_synced: 0,
    messages_total: null,
    error: null,
  })
  const { db } = box.app.world
  const events = await db.many<{ data: { connection: object; provider: string } }>(
    sql`select data from events where inbox_id = ${inboxId} and type = 'inbox.updated'`,
  )
  assert.deepEqual(
    events.map(({ data }) => [data.provider, data.connection]),
    [['google', inbox.connection]],
  )
  const [entry, ...others] = await auditOf('inbox.connect', inboxId)
  assert.equal(others.length, 0)
  assert.equal(entry.actor.type, 'api_key', 'who asked for it did it')
  assert.equal(entry.ip, '127.0.0.1')
  assert.deepEqual(entry.after, { provider: 'google', address: email.toLowerCase() })
  const rows = await db.many(sql`select * from connections`)
  const texts = JSON.stringify([rows, await db.many(sql`select * from connect_states`), box.logLines], (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value,
  )
  assert.ok(texts.includes('v1.'), 'sealed values are looked at')
  assert.ok(!/canary/.test(texts))
  assert.ok(!texts.includes(CLIENT_SECRET))
})

test('a state is good once: replayed, forged, cut, unknown and missing ones answer 400 and connect nothing', async () => {
  const inboxId = await anInbox(account)
  const query = await agreed(inboxId)
  const state = new URLSearchParams(query).get('state')!
  const [id, mac] = state.split('.') as [string, string]
  const forged = [
    `${id}.${mac.slice(0, -1)}${mac.endsWith('A') ? 'E' : 'A'}`,
    id,
    `${crypto.randomUUID()}.${mac}`,
    `${state}.x`,
    'x'.repeat(499),
    '.',
  ]
  for (const text of forged) {
    const reply = await box.client().get(`${CALLBACK}?code=x&state=${encodeURIComponent(text)}`)
    assert.equal(reply.status, 400, text)
    assert.equal(reply.body.error.code, 'invalid_request')
  }
  assert.equal((await box.client().get(`${CALLBACK}?code=x`)).status, 400)
  assert.equal((await box.client().get(`${CALLBACK}?code=x&state=${state}&state=${state}`)).status, 400)
  assert.equal((await box.client().get(`${CALLBACK}?code=x&state=${'x'.repeat(501)}`)).status, 400)
  assert.equal((await inboxOf(inboxId)).provider, 'native')
  const both = await Promise.all([box.client().get(CALLBACK + query), box.client().get(CALLBACK + query)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [302, 400])
  assert.equal((await box.client().get(CALLBACK + query)).status, 400)
})

test('a state is good for ten minutes', async () => {
  const inboxId = await anInbox(account)
  const query = await agreed(inboxId)
  box.clock.advance(600_001)
  assert.equal((await box.client().get(CALLBACK + query)).status, 400)
  assert.equal((await inboxOf(inboxId)).provider, 'native')
})

test('who does not agree, and a code that the provider does not know, are told to the console', async () => {
  const inboxId = await anInbox(account)
  const stateOf = async () => new URLSearchParams(await agreed(inboxId)).get('state')
  assert.equal(await obstacleAfter(`?error=access_denied&state=${await stateOf()}`, inboxId), 'access_denied')
  assert.equal(await obstacleAfter(`?error=<script>&state=${await stateOf()}`, inboxId), 'provider_error')
  assert.equal(await obstacleAfter(`?code=garbage&state=${await stateOf()}`, inboxId), 'invalid_code')
  assert.equal(await obstacleAfter(`?state=${await stateOf()}`, inboxId), 'provider_error')
  // Two flows side by side: the code of one does not fit the verifier of the other.
  const [one, other] = [new URLSearchParams(await agreed(inboxId)), new URLSearchParams(await agreed(inboxId))]
  assert.equal(await obstacleAfter(`?code=${one.get('code')}&state=${other.get('state')}`, inboxId), 'invalid_code')
})

test('a provider that breaks off, talks nonsense or without end, throttles or refuses us connects nothing', async () => {
  const inboxId = await anInbox(account)
  for (const fault of ['drop', 'garbage', 'huge', 'unavailable', 'unauthorized', 'throttled'] as const) {
    const query = await agreed(inboxId)
    oauth.faults.push(fault)
    assert.equal(await obstacleAfter(query, inboxId), 'provider_unavailable', fault)
  }
  const query = await agreed(inboxId)
  oauth.faults.push('no_refresh_token')
  assert.equal(await obstacleAfter(query, inboxId), 'no_refresh_token')
})

test('an id_token of another issuer, client or request, an old one, or one without a good address is refused', async () => {
  const inboxId = await anInbox(account)
  const wrong = [
    { iss: 'https://evil.example' },
    { iss: 'https://accounts.google.com.evil.example' },
    { aud: 'another-client' },
    { aud: ['another-client', 'client-id.apps.example'] },
    { nonce: 'another' },
    { nonce: undefined },
    { exp: 1_000_000 },
    { email: undefined },
    { email: 'no address' },
    { email: 'a@example.com\r\nRCPT TO:<b@example.com>' },
    { email: ['a@example.com'] },
    { email_verified: false },
  ]
  for (const claims of wrong) {
    const query = await agreed(inboxId)
    oauth.claims = claims
    assert.equal(await obstacleAfter(query, inboxId), 'invalid_id_token', JSON.stringify(claims))
  }
  oauth.claims = {}
})

test('refusals come in their order: 404, 400, 409, 503', async t => {
  const bare = await aBox({ until: t, environment: { ROLES: 'api' }, databaseUrl: box.databaseUrl })
  const api = bare.client(account.bearer)
  const random = crypto.randomUUID()
  const native = await anInbox(account)
  const { inboxId } = await connected()
  for (const each of [api, account.api]) {
    assert.equal((await each.post(`/v1/inboxes/${random}/connect/yahoo`)).status, 404)
    assert.equal((await each.post(`/v1/inboxes/${native}/connect/yahoo`)).status, 400)
    assert.equal((await each.post(`/v1/inboxes/${inboxId}/connect/yahoo`)).status, 400)
    assert.equal((await each.post(`/v1/inboxes/${inboxId}/connect/google`)).status, 409)
    assert.equal((await each.post(`/v1/inboxes/${inboxId}/connect/microsoft`)).status, 409)
    assert.equal((await each.delete(`/v1/inboxes/${random}/connect`)).status, 404)
  }
  assert.equal((await api.post(`/v1/inboxes/${native}/connect/google`)).status, 503)
  assert.equal((await api.delete(`/v1/inboxes/${native}/connect`)).status, 503)
  assert.equal((await api.delete(`/v1/inboxes/${inboxId}/connect`)).status, 503)
  assert.equal((await account.api.delete(`/v1/inboxes/${native}/connect`)).status, 409)
})

test('disconnecting revokes the grant, keeps the inbox and its mail, and is told and audited once', async () => {
  const { inboxId, email } = await connected()
  const [grant] = [...oauth.grants].slice(-1)
  const { status, body } = await account.api.delete(`/v1/inboxes/${inboxId}/connect`)
  assert.equal(status, 200)
  assert.equal(body.provider, 'native')
  assert.equal(body.connection, null)
  assert.deepEqual(await inboxOf(inboxId), body)
  assert.ok(oauth.revoked.includes(grant!))
  const [entry, ...others] = await auditOf('inbox.disconnect', inboxId)
  assert.equal(others.length, 0)
  assert.deepEqual(entry.before, { provider: 'google', address: email })
  assert.equal((await account.api.delete(`/v1/inboxes/${inboxId}/connect`)).status, 409)
  assert.equal((await begin(inboxId)).status, 200, 'it can be connected again')
})

test('a grant is not revoked while another inbox mirrors the same mailbox, and is with the last, by deletion too', async () => {
  const first = await connected()
  const second = await connected(first.email)
  const before = oauth.revoked.length
  assert.equal((await account.api.delete(`/v1/inboxes/${first.inboxId}/connect`)).status, 200)
  assert.equal(oauth.revoked.length, before)
  assert.equal((await account.api.delete(`/v1/inboxes/${second.inboxId}`)).status, 204)
  assert.equal(oauth.revoked.length, before + 1)
})

test('a provider that cannot be asked to revoke does not keep the connection', async () => {
  const deaf = await aBox({
    environment: { ROLES: 'api', ...oauth.environment, GOOGLE_REVOKE_URL: 'http://127.0.0.1:9/revoke' },
    databaseUrl: box.databaseUrl,
  })
  const { inboxId } = await connected()
  const reply = await deaf.client(account.bearer).delete(`/v1/inboxes/${inboxId}/connect`)
  assert.equal(reply.status, 200)
  assert.equal(reply.body.provider, 'native')
  assert.ok(deaf.logLines.some(line => line.includes('a grant could not be revoked')))
})

test('a token that cannot be opened does not keep the connection either', async () => {
  const { inboxId } = await connected()
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`update connections set refresh_token = 'v1.none.none' where inbox_id = ${inboxId}`),
  )
  assert.equal((await account.api.delete(`/v1/inboxes/${inboxId}/connect`)).status, 200)
  assert.equal((await inboxOf(inboxId)).provider, 'native')
})

test('an inbox that is deleted between the halves is not connected, and the new grant is given back', async () => {
  const inboxId = await anInbox(account)
  oauth.email = `${unique('late')}@example.com`
  const query = await agreed(inboxId)
  assert.equal((await account.api.delete(`/v1/inboxes/${inboxId}`)).status, 204)
  const before = oauth.revoked.length
  const { headers } = await box.client().get(CALLBACK + query)
  assert.match(headers.get('location')!, /connect_error=inbox_gone$/)
  assert.equal(oauth.revoked.length, before + 1)
})

test('what a key has begun that was revoked or rotated since is not finished', async () => {
  const inboxId = await anInbox(account)
  for (const end of [
    (id: string) => account.api.delete(`/v1/api-keys/${id}`),
    (id: string) => account.api.post(`/v1/api-keys/${id}/rotate`),
  ]) {
    const { body: key } = await account.api.post('/v1/api-keys', { name: 'Stolen', scopes: ['admin'] })
    const { body } = await box.client(key.secret).post(`/v1/inboxes/${inboxId}/connect/google`)
    assert.ok((await end(key.id)).status < 300)
    assert.equal(await obstacleAfter(await oauth.agree(body.auth_url), inboxId), 'key_revoked')
  }
})

test('a flow that fails gives no grant back by which its inbox mirrors the same mailbox', async () => {
  const inboxId = await anInbox(account)
  oauth.email = `${unique('twice')}@example.com`
  const { body: key } = await account.api.post('/v1/api-keys', { name: 'Former', scopes: ['admin'] })
  const { body } = await box.client(key.secret).post(`/v1/inboxes/${inboxId}/connect/google`)
  await box.client().get(CALLBACK + (await agreed(inboxId)))
  assert.equal((await account.api.delete(`/v1/api-keys/${key.id}`)).status, 204)
  const before = oauth.revoked.length
  const { headers } = await box.client().get(CALLBACK + (await oauth.agree(body.auth_url)))
  assert.match(headers.get('location')!, /connect_error=key_revoked$/)
  assert.deepEqual([oauth.revoked.length, (await inboxOf(inboxId)).provider], [before, 'google'])
})

test('flows of an inbox beyond the tenth replace the oldest, and old ones are forgotten', async () => {
  const inboxId = await anInbox(account)
  const count = async () =>
    (await box.app.world.db.many(sql`select id from connect_states where inbox_id = ${inboxId}`)).length
  const first = await agreed(inboxId)
  for (let n = 0; n < 10; n++) assert.equal((await begin(inboxId)).status, 200)
  assert.equal(await count(), 10)
  assert.equal((await box.client().get(CALLBACK + first)).status, 400)
  box.clock.advance(600_001)
  await eventually('old states are forgotten', async () => {
    await begin(inboxId)
    return (await count()) <= 10
  })
})
