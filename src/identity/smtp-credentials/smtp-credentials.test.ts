// SMTP credentials, as the spec words them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, unique, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'

const create = ({ api, tenant }: TestAccount, body?: object, tenantId = tenant.id) =>
  api.post(`/v1/tenants/${tenantId}/smtp-credentials`, body)

test('a credential is created with a generated username and a password that is shown once', async () => {
  const account = await anAccount()

  const { status, body } = await create(account)

  assert.equal(status, 201)
  const { password, ...shown } = body
  assert.match(password, /^[A-Za-z0-9-]{43}$/)
  assert.match(body.username, /^smtp_[a-z2-7]{12}$/)
  assert.deepEqual(shown, {
    id: body.id,
    tenant_id: account.tenant.id,
    username: body.username,
    allowed_cidrs: [],
    created_at: body.created_at,
    rotated_at: null,
    last_used_at: null,
  })
  const { body: list } = await account.api.get(`/v1/tenants/${account.tenant.id}/smtp-credentials`)
  assert.deepEqual(list, { credentials: [shown], next_cursor: null })
})

test('a username may be chosen; taken answers 409, also to another account', async () => {
  const [account, other] = [await anAccount(), await anAccount()]
  const username = `${unique('App.+')}@acme`

  assert.equal((await create(account, { username, allowed_cidrs: ['192.0.2.0/24'] })).body.username, username)

  for (const again of [await create(account, { username }), await create(other, { username })]) {
    assert.equal(again.status, 409)
    assert.equal(again.body.error.code, 'conflict')
  }
})

test('usernames and networks of a wrong form answer 400', async () => {
  const account = await anAccount()
  const bad = ['', 'ab', 'x'.repeat(65), 'a b c', 'a:b:c', 'äöü', 'abc\n', 'a/b/c', null, 5]
  for (const username of bad) assert.equal((await create(account, { username })).status, 400, String(username))
  assert.equal((await create(account, { allowed_cidrs: ['192.0.2.0/33'] })).status, 400)
  assert.equal((await create(account, { allowed_cidrs: '192.0.2.0/24' })).status, 400)
})

test('rotation gives a new password and keeps id, username and allow-list', async () => {
  const account = await anAccount()
  const { body: made } = await create(account, { allowed_cidrs: ['192.0.2.0/24'] })

  const { status, body } = await account.api.post(`/v1/smtp-credentials/${made.id}/rotate`)

  assert.equal(status, 200)
  assert.notEqual(body.password, made.password)
  assert.ok(body.rotated_at)
  assert.deepEqual({ ...body, password: made.password, rotated_at: null }, made)
})

test("a tenant's key rotates its tenant's credentials when it holds send, and nothing else", async () => {
  const account = await anAccount({ tenants: 2 })
  const { body: own } = await create(account)
  const { body: other } = await create(account, {}, account.tenants[1]!.id)
  const tenant_id = account.tenant.id
  const sender = await account.withKey({ scopes: ['send'], tenant_id })
  const reader = await account.withKey({ scopes: ['read', 'feedback'], tenant_id })
  const accountSender = await account.withKey({ scopes: ['send'] })

  assert.equal((await sender.post(`/v1/smtp-credentials/${own.id}/rotate`)).status, 200)
  assert.equal((await sender.post(`/v1/smtp-credentials/${other.id}/rotate`)).status, 404)
  assert.equal((await reader.post(`/v1/smtp-credentials/${own.id}/rotate`)).status, 403)
  assert.equal((await accountSender.post(`/v1/smtp-credentials/${own.id}/rotate`)).status, 403)
  assert.equal((await sender.delete(`/v1/smtp-credentials/${own.id}`)).status, 403)
  assert.equal((await sender.get(`/v1/tenants/${tenant_id}/smtp-credentials`)).status, 403)
})

test("a tenant's key renews no credential that lets in from more networks or for longer than itself", async () => {
  const account = await anAccount()
  const { body: open } = await create(account)
  const { body: near } = await create(account, { allowed_cidrs: ['127.0.0.1/32'] })
  const bound = { scopes: ['send'], tenant_id: account.tenant.id } satisfies Parameters<typeof account.withKey>[0]
  const local = await account.withKey({ ...bound, allowed_cidrs: ['127.0.0.0/8'] })
  const brief = await account.withKey({ ...bound, expires_in_days: 1 })

  assert.equal((await local.post(`/v1/smtp-credentials/${open.id}/rotate`)).status, 403)
  assert.equal((await local.post(`/v1/smtp-credentials/${near.id}/rotate`)).status, 200)
  assert.equal((await brief.post(`/v1/smtp-credentials/${near.id}/rotate`)).status, 403, 'a credential never expires')
})

test('deleting answers 204, then 404', async () => {
  const account = await anAccount()
  const { body: made } = await create(account)

  assert.equal((await account.api.delete(`/v1/smtp-credentials/${made.id}`)).status, 204)

  assert.equal((await account.api.delete(`/v1/smtp-credentials/${made.id}`)).status, 404)
  assert.equal((await account.api.post(`/v1/smtp-credentials/${made.id}/rotate`)).status, 404)
})

test('creation, rotation and deletion are audited, without the password', async () => {
  const account = await anAccount()
  const { body: made } = await create(account)
  const { body: rotated } = await account.api.post(`/v1/smtp-credentials/${made.id}/rotate`)
  await account.api.delete(`/v1/smtp-credentials/${made.id}`)

  const { body } = await account.api.get('/v1/audit')

  const entries = body.entries.filter((entry: { target: { id: string } }) => entry.target.id === made.id)
  assert.deepEqual(
    entries.map((entry: { action: string }) => entry.action),
    ['smtp_credential.delete', 'smtp_credential.rotate', 'smtp_credential.create'],
  )
  const text = JSON.stringify(body)
  assert.ok(!text.includes(made.password) && !text.includes(rotated.password))
})

test('the list holds the credentials of that tenant only, newest first, in pages', async () => {
  const account = await anAccount({ tenants: 2 })
  const ids: string[] = []
  for (let index = 0; index < 3; index++) ids.push((await create(account)).body.id)
  await create(account, {}, account.tenants[1]!.id)
  const path = `/v1/tenants/${account.tenant.id}/smtp-credentials?limit=2`

  const first = await account.api.get(path)
  const rest = await account.api.get(`${path}&cursor=${first.body.next_cursor}`)

  const listed = [...first.body.credentials, ...rest.body.credentials].map(({ id }: { id: string }) => id)
  assert.deepEqual(listed, ids.toReversed())
  assert.equal(rest.body.next_cursor, null)
})

test('addresses of logins are forgotten after eight days, but nothing of an account under legal hold', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const [held, other] = [await anAccount({ box }), await anAccount({ box })]
  const { db } = box.app.world
  const worker = box.app.workers.find(each => each.name === 'login-addresses-retention')
  assert.ok(worker?.kind === 'periodic')
  for (const { id, tenant } of [held, other]) {
    await db.transact(system('test'), tx =>
      tx.run(sql`
        insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
        select gen_random_uuid(), date_trunc('minute', ${tx.now}::timestamptz), '192.0.2.1', ${id}, ${tenant.id}
        from generate_series(1, 11000)`),
    )
  }
  const forget = async (): Promise<number[]> => {
    await worker.run(box.app.world, new AbortController().signal)
    const { ofHeld, ofOther } = await db.one<{ ofHeld: number; ofOther: number }>(sql`
      select count(*) filter (where account_id = ${held.id}) as "ofHeld",
        count(*) filter (where account_id = ${other.id}) as "ofOther" from credential_addresses`)
    return [ofHeld, ofOther]
  }
  await held.api.patch('/v1/account', { legal_hold: true })
  box.clock.advance(9 * 86_400_000)
  assert.deepEqual(await forget(), [11_000, 0])
  await held.api.patch('/v1/account', { legal_hold: false })
  box.clock.advance(86_400_000)
  assert.deepEqual(await forget(), [0, 0])
})
