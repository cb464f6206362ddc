// Logging in with an SMTP credential: who gets in, what is recorded, and when an address has to wait.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { SmtpAuthenticator } from './authenticate.ts'

const IP = '192.0.2.7'

async function aCredential(account: TestAccount, body: object = {}) {
  const made = await account.api.post(`/v1/tenants/${account.tenant.id}/smtp-credentials`, body)
  assert.equal(made.status, 201)
  return made.body as { id: string; username: string; password: string }
}

const authenticatorOf = (box: Box) => new SmtpAuthenticator(box.app.world)

const refusal = (code: string) => (error: { code?: string }) => error.code === code

const failures = async ({ api }: TestAccount) =>
  (await api.get('/v1/events?type=auth_failed&limit=500')).body.events as { tenant_id: string; data: object }[]

test('the right password gets in, as the tenant', async () => {
  const account = await anAccount()
  const { id, username, password } = await aCredential(account)

  const principal = await authenticatorOf(account.box).authenticate({ username, password, ip: IP })

  assert.deepEqual(principal, { credentialId: id, username, accountId: account.id, tenantId: account.tenant.id })
})

test('a wrong password is refused and leaves an auth_failed event; an unknown username leaves none', async () => {
  const account = await anAccount()
  const { id, username, password } = await aCredential(account)
  const authenticator = authenticatorOf(account.box)
  const login = (name: string, word: string) => authenticator.authenticate({ username: name, password: word, ip: IP })

  await assert.rejects(login(username, `${password}x`), refusal('unauthorized'))
  await assert.rejects(login(username, ''), refusal('unauthorized'))
  await assert.rejects(login(`${username}x`, password), refusal('unauthorized'))
  await assert.rejects(login('a\0b', password), refusal('unauthorized'))
  await authenticator.flush()

  const events = await failures(account)
  assert.equal(events.length, 2)
  assert.equal(events[0]!.tenant_id, account.tenant.id)
  assert.deepEqual(events[0]!.data, { credential_id: id, username, ip: IP, reason: 'wrong_password' })
})

test('known and unknown usernames are refused in the same words', async () => {
  const account = await anAccount()
  const { username } = await aCredential(account)
  const authenticator = authenticatorOf(account.box)
  const messageFor = (name: string) =>
    authenticator.authenticate({ username: name, password: 'wrong', ip: IP }).catch((error: Error) => error.message)
  assert.equal(await messageFor(username), await messageFor('nobody'))
})

test('a credential used from outside its allowed_cidrs is refused and recorded, and inside it gets in', async () => {
  const account = await anAccount()
  const { username, password } = await aCredential(account, { allowed_cidrs: ['198.51.100.0/24', '2001:db8::/32'] })
  const authenticator = authenticatorOf(account.box)
  const from = (ip: string) => authenticator.authenticate({ username, password, ip })

  await assert.rejects(from(IP), refusal('ip_not_allowed'))
  assert.ok(await from('198.51.100.9'))
  assert.ok(await from('::ffff:198.51.100.9'))
  assert.ok(await from('2001:db8::1'))
  await authenticator.flush()

  const events = await failures(account)
  assert.deepEqual(
    events.map(({ data }) => (data as { reason: string }).reason),
    ['ip_not_allowed'],
  )
})

test('rotation and deletion are in force in every process when the call returns', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const second = authenticatorOf(await aBox({ until: t, databaseUrl: account.box.databaseUrl }))
  for (let round = 0; round < 4; round++) {
    const { id, username, password } = await aCredential(account)
    assert.ok(await second.authenticate({ username, password, ip: IP }))

    const { body: rotated } = await account.api.post(`/v1/smtp-credentials/${id}/rotate`)
    await assert.rejects(second.authenticate({ username, password, ip: IP }), refusal('unauthorized'))
    assert.ok(await second.authenticate({ username, password: rotated.password, ip: IP }))

    await account.api.delete(`/v1/smtp-credentials/${id}`)
    const gone = second.authenticate({ username, password: rotated.password, ip: IP })
    await assert.rejects(gone, refusal('unauthorized'))
  }
})

test('after thirty failures in ten minutes wrong passwords of an address have to wait; who has the right one gets in', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const { username, password } = await aCredential(account)
  const neighbour = await aCredential(account)
  const { clock } = account.box
  const authenticator = authenticatorOf(account.box)
  const login = (ip: string, word = password) => authenticator.authenticate({ username, password: word, ip })
  for (let failed = 0; failed < 30; failed++) {
    await assert.rejects(login(IP, 'wrong'), refusal('unauthorized'))
    clock.advance(10_000)
  }

  const refused = await login(IP, 'wrong').catch(error => error)

  assert.equal(refused.code, 'rate_limited')
  assert.ok(refused.retryAfterSeconds > 290 && refused.retryAfterSeconds <= 300, String(refused.retryAfterSeconds))
  assert.ok(await login(IP))
  assert.ok(await authenticator.authenticate({ ...neighbour, ip: IP }), 'behind the same address')
  await assert.rejects(login('192.0.2.8', 'wrong'), refusal('unauthorized'))
  clock.advance(601_000)
  await assert.rejects(login(IP, 'wrong'), refusal('unauthorized'), 'the failures are older than ten minutes')
})

test('guessing at unknown usernames is limited too, and a /64 of IPv6 counts as one address', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const authenticator = authenticatorOf(account.box)
  const guess = (ip: string) => authenticator.authenticate({ username: 'nobody', password: 'x', ip })
  const spellings = ['2001:db8:0:1::1', '2001:0DB8:0:1:ffff::2', '2001:db8::1:0:0:0:3']
  for (let failed = 0; failed < 30; failed++) {
    await assert.rejects(guess(spellings[failed % 3]!), refusal('unauthorized'))
  }

  await assert.rejects(guess('2001:db8:0:1::4'), refusal('rate_limited'))
  await assert.rejects(guess('2001:db8:0:2::4'), refusal('unauthorized'))
  await assert.rejects(guess('::1'), refusal('unauthorized'))
})

test('many right logins at once from one address all get in', async () => {
  const account = await anAccount()
  const { username, password } = await aCredential(account)
  const authenticator = authenticatorOf(account.box)

  const principals = await Promise.all(
    Array.from({ length: 300 }, () => authenticator.authenticate({ username, password, ip: IP })),
  )

  assert.equal(principals.length, 300)
})

test('when a credential was last used can be seen', async () => {
  const account = await anAccount()
  const { username, password } = await aCredential(account)
  const authenticator = authenticatorOf(account.box)
  await authenticator.authenticate({ username, password, ip: IP })

  await authenticator.flush()

  const used = await eventually('the use is written', async () => {
    const { body } = await account.api.get(`/v1/tenants/${account.tenant.id}/smtp-credentials`)
    return body.credentials[0].last_used_at
  })
  assert.ok(Math.abs(Date.parse(used) - Date.now()) < 60_000)
})

test('the credentials of a disabled tenant still authenticate', async () => {
  const account = await anAccount()
  const { username, password } = await aCredential(account)
  await account.api.patch(`/v1/tenants/${account.tenant.id}`, { status: 'disabled' })

  assert.ok(await authenticatorOf(account.box).authenticate({ username, password, ip: IP }))
})

test('passwords appear in no row and no log line', async t => {
  const account = await anAccount({ box: await aBox({ until: t }) })
  const { id, username, password } = await aCredential(account)
  const { body: rotated } = await account.api.post(`/v1/smtp-credentials/${id}/rotate`)
  const authenticator = authenticatorOf(account.box)
  await authenticator.authenticate({ username, password, ip: IP }).catch(() => {})
  await authenticator.flush()

  const tables = await account.box.app.world.db.many<{ dump: string }>({
    toQuery: () => ({
      text: `select query_to_xml('select * from ' || quote_ident(tablename), true, true, '')::text as dump from pg_tables where schemaname = 'public'`,
      values: [],
    }),
  } as never)

  for (const secret of [password, rotated.password]) {
    assert.ok(!tables.some(({ dump }) => dump.includes(secret)), 'in a row')
    assert.ok(!account.box.logLines.some(line => line.includes(secret)), 'in the log')
  }
})
