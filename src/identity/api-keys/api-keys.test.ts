// API keys: what each level may hold, and what rotation and revocation keep.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Api } from '../../../test/support/client.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'

test('the secret is shown on creation and on rotation and never again', async () => {
  const { api } = await anAccount()
  const { status, body: key } = await api.post('/v1/api-keys', { name: 'CI', scopes: ['send', 'read', 'send'] })
  assert.equal(status, 201)
  assert.match(key.secret, new RegExp(`^svc_${key.prefix}_`))
  assert.deepEqual(key.scopes, ['send', 'read'])

  const { body } = await api.get('/v1/api-keys')

  const listed = body.keys.find((each: { id: string }) => each.id === key.id)
  const { secret: _, ...shown } = key
  assert.deepEqual(listed, shown)
  assert.ok(body.keys.every((each: object) => !('secret' in each) && !('secret_hash' in each)))
})

test('rotation keeps id, scopes, expiry and allow-list', async () => {
  const { api } = await anAccount()
  const { body: key } = await api.post('/v1/api-keys', {
    name: 'CI',
    scopes: ['send'],
    allowed_cidrs: ['127.0.0.1/32'],
    expires_in_days: 30,
  })

  const { status, body: rotated } = await api.post(`/v1/api-keys/${key.id}/rotate`)

  assert.equal(status, 200)
  assert.notEqual(rotated.secret, key.secret)
  assert.ok(rotated.rotated_at)
  for (const field of ['id', 'name', 'scopes', 'allowed_cidrs', 'expires_at', 'created_at', 'level']) {
    assert.deepEqual(rotated[field], key[field], field)
  }
})

test('creation, rotation and revocation are audited', async () => {
  const { api } = await anAccount()
  const { body: key } = await api.post('/v1/api-keys', { name: 'CI', scopes: ['send'] })
  await api.post(`/v1/api-keys/${key.id}/rotate`)
  await api.delete(`/v1/api-keys/${key.id}`)

  const { body } = await api.get('/v1/audit')

  const actions = body.entries
    .filter((entry: { target: { id: string } }) => entry.target.id === key.id)
    .map((entry: { action: string }) => entry.action)
  assert.deepEqual(actions, ['api_key.revoke', 'api_key.rotate', 'api_key.create'])
})

test('a revoked key is listed no more, and revoking or rotating it again answers 404', async () => {
  const { api } = await anAccount()
  const { body: key } = await api.post('/v1/api-keys', { name: 'CI', scopes: ['send'] })

  assert.equal((await api.delete(`/v1/api-keys/${key.id}`)).status, 204)

  assert.equal((await api.delete(`/v1/api-keys/${key.id}`)).status, 404)
  assert.equal((await api.post(`/v1/api-keys/${key.id}/rotate`)).status, 404)
  const { body } = await api.get('/v1/api-keys')
  assert.ok(!body.keys.some((each: { id: string }) => each.id === key.id))
})

test('a tenant-bound key may hold only send, read and feedback; an inbox key only send and read', async () => {
  const account = await anAccount()
  const inbox_id = await anInbox(account)
  const cases: [object, number][] = [
    [{ scopes: ['send', 'read', 'feedback'], tenant_id: account.tenant.id }, 201],
    [{ scopes: ['suspend'], tenant_id: account.tenant.id }, 400],
    [{ scopes: ['admin'], tenant_id: account.tenant.id }, 400],
    [{ scopes: ['send', 'read'], inbox_id }, 201],
    [{ scopes: ['feedback'], inbox_id }, 400],
    [{ scopes: ['admin'], inbox_id }, 400],
    [{ scopes: ['send', 'read', 'feedback', 'suspend', 'admin'] }, 201],
    [{ scopes: [] }, 400],
    [{ scopes: ['everything'] }, 400],
    [{ scopes: ['read'], allowed_cidrs: ['10.0.0.0/33'] }, 400],
    [{ scopes: ['read'], allowed_cidrs: ['example.com'] }, 400],
    [{ scopes: ['read'], expires_in_days: -1 }, 400],
    [{ scopes: ['read'], expires_in_days: 1.5 }, 400],
  ]
  for (const [body, status] of cases) {
    const reply = await account.api.post('/v1/api-keys', { name: 'k', ...body })
    assert.equal(reply.status, status, `${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`)
  }
})

test('an inbox key inherits the tenant of its inbox', async () => {
  const account = await anAccount({ tenants: 2 })
  const inbox_id = await anInbox(account, account.tenants[1]!.id)

  const { body } = await account.api.post('/v1/api-keys', { name: 'agent', scopes: ['read'], inbox_id })

  assert.equal(body.level, 'inbox')
  assert.equal(body.tenant_id, account.tenants[1]!.id)
  const crossed = { name: 'agent', scopes: ['read'], inbox_id, tenant_id: account.tenant.id }
  assert.equal((await account.api.post('/v1/api-keys', crossed)).status, 404)
})

test("a tenant's key may rotate keys of its tenant whose scopes are a subset of its own, and nothing else", async () => {
  const account = await anAccount({ tenants: 2 })
  const [own, other] = [account.tenants[0]!, account.tenants[1]!]
  const make = async (scopes: string[], tenant_id?: string): Promise<string> =>
    (await account.api.post('/v1/api-keys', { name: 'k', scopes, ...(tenant_id && { tenant_id }) })).body.id
  const reader = await account.withKey({ scopes: ['read'], tenant_id: own.id })

  assert.equal((await reader.post(`/v1/api-keys/${await make(['read'], own.id)}/rotate`)).status, 200)
  assert.equal((await reader.post(`/v1/api-keys/${await make(['read', 'send'], own.id)}/rotate`)).status, 403)
  assert.equal((await reader.post(`/v1/api-keys/${await make(['read'], other.id)}/rotate`)).status, 404)
  assert.equal((await reader.post(`/v1/api-keys/${await make(['read'])}/rotate`)).status, 404)
  assert.equal((await reader.delete(`/v1/api-keys/${await make(['read'], own.id)}`)).status, 403)
})

test("a tenant's key renews no key that is good in more networks or for longer than itself", async () => {
  const account = await anAccount()
  const tenant_id = account.tenant.id
  const make = async (bounds: object): Promise<string> =>
    (await account.api.post('/v1/api-keys', { name: 'k', scopes: ['read'], tenant_id, ...bounds })).body.id
  const bound = { scopes: ['read'], tenant_id } satisfies Parameters<typeof account.withKey>[0]
  const rotate = async (caller: Api, bounds: object): Promise<number> =>
    (await caller.post(`/v1/api-keys/${await make(bounds)}/rotate`)).status

  const local = await account.withKey({ ...bound, allowed_cidrs: ['127.0.0.0/8', '2001:db8::/32'] })
  assert.equal(await rotate(local, {}), 403, 'from anywhere')
  assert.equal(await rotate(local, { allowed_cidrs: ['127.0.0.0/7'] }), 403)
  assert.equal(await rotate(local, { allowed_cidrs: ['127.0.0.1', '192.0.2.1'] }), 403, 'one of them outside')
  assert.equal(await rotate(local, { allowed_cidrs: ['::ffff:127.0.0.1'] }), 403, 'another family')
  assert.equal(await rotate(local, { allowed_cidrs: ['127.0.0.0/8', '127.1.0.0/16', '2001:db8:1::/48'] }), 200)

  const brief = await account.withKey({ ...bound, expires_in_days: 2 })
  assert.equal(await rotate(brief, {}), 403, 'for ever')
  assert.equal(await rotate(brief, { expires_in_days: 3 }), 403)
  assert.equal(await rotate(brief, { expires_in_days: 1 }), 200)
  assert.equal(await rotate(await account.withKey(bound), { allowed_cidrs: ['10.0.0.1'], expires_in_days: 1 }), 200)

  const { body: own } = await account.api.post('/v1/api-keys', { name: 'k', expires_in_days: 1, ...bound })
  const self = account.box.client(own.secret)
  assert.equal((await self.post(`/v1/api-keys/${own.id}/rotate`)).status, 200, 'itself')
})

test('an account-wide admin key rotates any key of the account: it could create it anew', async () => {
  const account = await anAccount()
  const { body: endless } = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['admin'] })
  const admin = await account.withKey({ scopes: ['admin'], allowed_cidrs: ['127.0.0.0/8'], expires_in_days: 2 })
  assert.equal((await admin.post(`/v1/api-keys/${endless.id}/rotate`)).status, 200)
})

test('keys can be listed by tenant', async () => {
  const account = await anAccount({ tenants: 2 })
  await account.withKey({ scopes: ['read'], tenant_id: account.tenants[1]!.id })

  const { body } = await account.api.get(`/v1/api-keys?tenant_id=${account.tenants[1]!.id}`)

  assert.equal(body.keys.length, 1)
  assert.equal(body.keys[0].tenant_id, account.tenants[1]!.id)
})
