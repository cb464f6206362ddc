// Authentication, sentence by sentence from the spec.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aBox, theBox } from '../../../test/support/box.ts'
import type { Api } from '../../../test/support/client.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { AuthFailures } from './auth-failures.ts'

const DAY_MS = 86_400_000

test('the key has the form svc_<prefix>_<secret>, and its parts split at underscores', async () => {
  const { bearer } = await anAccount()
  assert.match(bearer, /^svc_[a-z2-7]{12}_[A-Za-z0-9-]{43}$/)
  assert.equal(bearer.split('_').length, 3)
})

test('an expired key answers 401 key_expired, one day after it was made for one day', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const brief = await account.withKey({ scopes: ['read'], expires_in_days: 1 })
  const endless = await account.withKey({ scopes: ['read'], expires_in_days: 0 })

  account.box.clock.advance(DAY_MS - 60_000)
  assert.equal((await brief.get('/v1/account')).status, 200)
  account.box.clock.advance(61_000)

  const { status, body } = await brief.get('/v1/account')
  assert.equal(status, 401)
  assert.equal(body.error.code, 'key_expired')
  assert.equal((await endless.get('/v1/account')).status, 200)
})

test('a key used from outside its allowed_cidrs answers 403 ip_not_allowed', async () => {
  const account = await anAccount()
  const elsewhere = await account.withKey({ scopes: ['read'], allowed_cidrs: ['203.0.113.0/24', '2001:db8::/32'] })
  const here = await account.withKey({ scopes: ['read'], allowed_cidrs: ['203.0.113.0/24', '127.0.0.0/8', '::1'] })

  const refused = await elsewhere.get('/v1/account')

  assert.equal(refused.status, 403)
  assert.equal(refused.body.error.code, 'ip_not_allowed')
  assert.equal((await here.get('/v1/account')).status, 200)
})

test('X-Forwarded-For is believed only from trusted proxies, and then only its right-most untrusted hop', async t => {
  const plain = await anAccount()
  const proxied = await anAccount({
    box: await aBox({ until: t, environment: { TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' } }),
  })
  const allowed_cidrs = ['203.0.113.7']
  const [ignoring, believing] = [
    await plain.withKey({ scopes: ['read'], allowed_cidrs }),
    await proxied.withKey({ scopes: ['read'], allowed_cidrs }),
  ]
  const via = (hops: string) => ({ 'x-forwarded-for': hops })

  assert.equal((await ignoring.get('/v1/account', via('203.0.113.7'))).status, 403)
  assert.equal((await believing.get('/v1/account', via('203.0.113.7'))).status, 200)
  assert.equal((await believing.get('/v1/account', via('203.0.113.7, 10.1.2.3'))).status, 200)
  assert.equal((await believing.get('/v1/account', via('203.0.113.7, 198.51.100.1'))).status, 403)
  assert.equal((await believing.get('/v1/account', via('203.0.113.7, nonsense'))).status, 403)
})

test('a wrong secret under a known prefix leaves an auth_failed event; an unknown prefix leaves none', async () => {
  const account = await anAccount()
  const bound = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id: account.tenant.id })
  const wrong: string = bound.body.secret.replace(/.{5}$/, 'wrong')

  assert.equal((await account.box.client(wrong).get('/v1/account')).status, 401)
  assert.equal((await account.box.client(`svc_aaaaaaaaaaaa_${'a'.repeat(43)}`).get('/v1/account')).status, 401)

  const { body } = await account.api.get('/v1/events?type=auth_failed')
  assert.equal(body.events.length, 1)
  assert.equal(body.events[0].tenant_id, account.tenant.id)
  assert.deepEqual(body.events[0].data, { api_key_id: bound.body.id, ip: '127.0.0.1', reason: 'wrong_secret' })
})

interface Failed {
  data: { ip: string | null; count?: number }
}

const failedLogins = async (api: Api): Promise<Failed[]> =>
  (await api.get('/v1/events?type=auth_failed&limit=500')).body.events

const guessesOf = (bearer: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => bearer.slice(0, -3) + String(index).padStart(3, '0'))

const total = (events: Failed[]): number => events.reduce((sum, { data }) => sum + (data.count ?? 1), 0)

test('of a flood of wrong secrets three hundred are answered 401 and the rest 429; all are counted, in few events', async t => {
  const { box, bearer, api, withKey } = await anAccount({ box: await aBox({ until: t }) })
  const { body: other } = await api.post('/v1/api-keys', { name: 'k', scopes: ['read'] })

  const replies = await Promise.all(guessesOf(bearer, 400).map(guess => box.client(guess).get('/v1/account')))

  assert.equal(replies.filter(reply => reply.status === 401).length, 300)
  const limited = replies.filter(reply => reply.status === 429)
  assert.equal(limited.length, 100)
  assert.equal(limited[0]!.body.error.code, 'rate_limited')
  const retryAfter = Number(limited[0]!.headers.get('retry-after'))
  assert.ok(retryAfter > 400 && retryAfter <= 600, String(retryAfter))
  assert.equal((await api.get('/v1/account')).status, 200, 'the right secret from the same address')
  assert.equal((await (await withKey({ scopes: ['read'] })).get('/v1/account')).status, 200)
  const [guess] = guessesOf(other.secret, 1)
  assert.equal((await box.client(guess).get('/v1/account')).status, 401, 'another key')
  assert.equal((await failedLogins(api)).length, 5 + 1, 'the first few of each, at once')

  await box.close()

  const again = await aBox({ until: t, databaseUrl: box.databaseUrl })
  const events = await failedLogins(again.client(bearer))
  assert.equal(events.length, 5 + 1 + 1)
  assert.equal(total(events), 401)
  again.clock.advance(601_000)
  assert.equal((await again.client(guess).get('/v1/account')).status, 401)
})

test('failures are told once a minute for each address, and those of many addresses together', async t => {
  const { box, id: accountId, api } = await anAccount({ box: await aBox({ until: t, environment: { ROLES: 'api' } }) })
  const failures = new AuthFailures(box.app.world, 'test')
  const fail = (ip: string) => failures.note({ subject: 'a key', accountId, tenantId: null, ip, data: {} })
  for (let minute = 0; minute < 3; minute++) {
    for (let n = 0; n < 1_000; n++) await fail(`192.0.2.${n % 2}`)
    await failures.flush()
  }
  const first = 2 * 5 + 3 * 2
  assert.equal((await failedLogins(api)).length, first)
  assert.equal(total(await failedLogins(api)), 3_000)

  await failures.flush()
  for (let n = 0; n < 5_000; n++) await fail(`198.18.${n % 20}.${n % 256}`)
  await failures.flush()

  const events = (await failedLogins(api)).slice(0, -first)
  assert.equal(total(events), 5_000)
  assert.ok(events.length <= 6 * 21, `${events.length} events`)
  const many = events.filter(({ data }) => data.ip === null)
  assert.ok(total(many) > 4_000, 'the addresses beyond the twentieth')
})

test('after failures that were told together, a single one is told at once again', async t => {
  const { box, id: accountId, api } = await anAccount({ box: await aBox({ until: t, environment: { ROLES: 'api' } }) })
  const failures = new AuthFailures(box.app.world, 'test')
  const fail = () => failures.note({ subject: 'a key', accountId, tenantId: null, ip: '192.0.2.1', data: {} })
  for (let n = 0; n < 8; n++) await fail()
  await failures.flush()
  await failures.flush()
  await fail()
  const events = await failedLogins(api)
  assert.deepEqual(
    events.map(({ data }) => data.count ?? 1),
    [1, 3, 1, 1, 1, 1, 1],
  )
})

test('credentials in the query string are not read', async () => {
  const { box, bearer } = await anAccount()
  assert.equal(
    (await box.client().get(`/v1/account?access_token=${bearer}&authorization=Bearer%20${bearer}`)).status,
    401,
  )
})

test('insufficient scope and wrong level are told apart', async () => {
  const account = await anAccount()
  const reader = await account.withKey({ scopes: ['read'] })
  const bound = await account.withKey({ scopes: ['read', 'send', 'feedback'], tenant_id: account.tenant.id })

  assert.equal(
    (await reader.post('/v1/tenants', { external_id: 'x', name: 'x' })).body.error.code,
    'insufficient_scope',
  )
  assert.equal((await bound.get('/v1/api-keys')).status, 403)
})

test('revocation and rotation are in force in every process when the call returns', async t => {
  const first = await theBox()
  const second = await aBox({ until: t, databaseUrl: first.databaseUrl })
  const account = await anAccount()
  for (let round = 0; round < 20; round++) {
    const { body: key } = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'] })
    assert.equal((await second.client(key.secret).get('/v1/account')).status, 200)

    const { body: rotated } = await account.api.post(`/v1/api-keys/${key.id}/rotate`)
    assert.equal((await second.client(key.secret).get('/v1/account')).status, 401, 'the old secret')
    assert.equal((await second.client(rotated.secret).get('/v1/account')).status, 200, 'the new secret')

    assert.equal((await account.api.delete(`/v1/api-keys/${key.id}`)).status, 204)
    assert.equal((await second.client(rotated.secret).get('/v1/account')).status, 401, 'the revoked key')
  }
})

test('a key that is revoked while it sends a body makes nothing with it', async t => {
  const account = await anAccount()
  const { body: key } = await account.api.post('/v1/api-keys', { name: 'Stolen', scopes: ['admin'] })
  const call = request(`${account.box.url}/v1/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
  })
  t.after(() => call.destroy())
  const answered = once(call, 'response') as Promise<[IncomingMessage]>
  call.write('{"name": "Next", ')
  // Until it has been let in, and some time has passed.
  await delay(500)
  assert.equal((await account.api.delete(`/v1/api-keys/${key.id}`)).status, 204)
  call.end('"scopes": ["admin"]}')
  const [answer] = await answered
  assert.equal(answer.statusCode, 401)
  const { body } = await account.api.get('/v1/api-keys')
  assert.ok(!body.keys.some(({ name }: { name: string }) => name === 'Next'))
})

test('a key that is revoked while its request waits for its turn does nothing any more', async () => {
  const account = await anAccount()
  const { db } = account.box.app.world
  const pauses = await Promise.all([1, 2].map(() => account.api.post(`/v1/tenants/${account.tenant.id}/pause`)))
  const { id } = pauses[0]!.body
  const { body: key } = await account.api.post('/v1/api-keys', { name: 'Stolen', scopes: ['admin'] })
  const resume = (api: Api) => api.post(`/v1/suspensions/${id}/resume`, { action: 'release' })

  const [first, second] = await db.transact(system('test'), async tx => {
    await tx.one(sql`select from suspensions where id = ${id} for update`)
    const began = resume(account.api)
    await delay(100)
    const waiting = resume(account.box.client(key.secret))
    await delay(200)
    assert.equal((await account.api.delete(`/v1/api-keys/${key.id}`)).status, 204)
    // Also where a busy machine identified it only just before that.
    await delay(300)
    return [began, waiting].map(async each => (await each).status)
  })
  assert.deepEqual([await first, await second], [200, 401])
})

test('when a key was last used can be seen', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const { body: key } = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'] })
  assert.equal(key.last_used_at, null)
  await account.box.client(key.secret).get('/v1/account')

  await account.box.close()

  const again = await aBox({ until: t, databaseUrl: account.box.databaseUrl })
  const found = await eventually('the use is written', async () => {
    const { body } = await again.client(account.bearer).get('/v1/api-keys')
    return body.keys.find(
      (each: { id: string; last_used_at: string | null }) => each.id === key.id && each.last_used_at,
    )
  })
  assert.ok(Math.abs(Date.parse(found.last_used_at) - Date.now()) < 60_000)
})

test('secrets appear in no row, log line, audit entry, event or error', async t => {
  const { api, box, bearer } = await anAccount({ box: await aBox({ until: t }) })
  const { body: key } = await api.post('/v1/api-keys', { name: 'canary', scopes: ['read'] })
  const { body: rotated } = await api.post(`/v1/api-keys/${key.id}/rotate`)
  await box.client(`${rotated.secret}x`).get('/v1/account')
  await api.request('POST', '/v1/tenants', { body: `{"name": "${key.secret}` })
  const secrets = [bearer, key.secret, rotated.secret].map((each: string) => each.split('_')[2]!)

  const tables = await box.app.world.db.many<{ dump: string }>({
    toQuery: () => ({
      text: `select query_to_xml('select * from ' || quote_ident(tablename), true, true, '')::text as dump from pg_tables where schemaname = 'public'`,
      values: [],
    }),
  } as never)

  assert.ok(tables.length > 8)
  for (const secret of secrets) {
    assert.ok(!tables.some(({ dump }) => dump.includes(secret)), 'in a row')
    assert.ok(!box.logLines.some(line => line.includes(secret)), 'in the log')
  }
})
