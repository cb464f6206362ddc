// Tenants, as the spec words them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAccount, aTenant, unique } from '../../../test/support/factories.ts'

test('a tenant is created with unlimited quotas and rates when they are omitted', async () => {
  const { api } = await anAccount({ tenants: 0 })
  const external_id = unique('customer')

  const { status, body } = await api.post('/v1/tenants', { external_id, name: 'Acme' })

  assert.equal(status, 201)
  assert.deepEqual(body, {
    id: body.id,
    external_id,
    name: 'Acme',
    status: 'active',
    quota_daily: null,
    quota_monthly: null,
    rate_per_minute: null,
    rate_per_hour: null,
    max_recipients_per_message: 1000,
    effective_rate_per_minute: null,
    created_at: body.created_at,
  })
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('a duplicate external_id answers 409, and another account may use it', async () => {
  const [first, second] = [await anAccount(), await anAccount()]
  const taken = { external_id: first.tenant.external_id, name: 'Again' }

  const again = await first.api.post('/v1/tenants', taken)
  const elsewhere = await second.api.post('/v1/tenants', taken)

  assert.equal(again.status, 409)
  assert.equal(again.body.error.code, 'duplicate_external_id')
  assert.equal(elsewhere.status, 201)
})

test('ten twins racing for one external_id make one tenant', async () => {
  const { api } = await anAccount({ tenants: 0 })
  const external_id = unique('race')

  const replies = await Promise.all(
    Array.from({ length: 10 }, () => api.post('/v1/tenants', { external_id, name: 'Race' })),
  )

  assert.deepEqual(replies.map(reply => reply.status).toSorted(), [201, ...Array<number>(9).fill(409)])
})

test('PATCH keeps absent fields, null removes a limit and 0 is a limit', async () => {
  const { api } = await anAccount({ tenants: 0 })
  const tenant = await aTenant(api, { quota_daily: 10, quota_monthly: 100, rate_per_minute: 5 })

  const { status, body } = await api.patch(`/v1/tenants/${tenant.id}`, { quota_daily: null, quota_monthly: 0 })

  assert.equal(status, 200)
  assert.equal(body.quota_daily, null)
  assert.equal(body.quota_monthly, 0)
  assert.equal(body.rate_per_minute, 5)
  assert.deepEqual((await api.get(`/v1/tenants/${tenant.id}`)).body, body)
})

test('disabling and enabling a tenant is audited with before and after values', async () => {
  const { api, tenant } = await anAccount()

  await api.patch(`/v1/tenants/${tenant.id}`, { status: 'disabled' })
  await api.patch(`/v1/tenants/${tenant.id}`, { status: 'active' })

  const { body } = await api.get('/v1/audit?action=tenant.update')
  assert.deepEqual(
    body.entries.map((entry: { before: object; after: object }) => [entry.before, entry.after]),
    [
      [{ status: 'disabled' }, { status: 'active' }],
      [{ status: 'active' }, { status: 'disabled' }],
    ],
  )
})

test('a PATCH that changes nothing leaves no audit entry', async () => {
  const { api, tenant } = await anAccount()

  const { status } = await api.patch(`/v1/tenants/${tenant.id}`, { name: tenant.name })

  assert.equal(status, 200)
  assert.deepEqual((await api.get('/v1/audit?action=tenant.update')).body.entries, [])
})

test('response-only and unknown fields are ignored and named, so GET, edit, PATCH works', async () => {
  const { api, tenant } = await anAccount()
  const { body: current } = await api.get(`/v1/tenants/${tenant.id}`)

  const { status, body, headers } = await api.patch(`/v1/tenants/${tenant.id}`, {
    ...current,
    name: 'Edited',
    'b\nad': 1,
  })

  assert.equal(status, 200)
  assert.equal(body.name, 'Edited')
  assert.equal(body.id, tenant.id)
  assert.equal(
    headers.get('x-service-ignored-fields'),
    'id, external_id, created_at, effective_rate_per_minute, b%0Aad',
  )
})

test('wrong types, bad enums and values out of range answer 400 with the path of the field', async () => {
  const { api, tenant } = await anAccount()
  const cases: [object, RegExp][] = [
    [{ quota_daily: '5' }, /^quota_daily must be integer or null/],
    [{ quota_daily: -1 }, /^quota_daily must be >= 0/],
    [{ quota_daily: 1.5 }, /^quota_daily must be integer or null/],
    [{ quota_daily: 2 ** 53 }, /^quota_daily must be <= 9007199254740991/],
    [{ max_recipients_per_message: null }, /^max_recipients_per_message must be integer/],
    [{ max_recipients_per_message: 0 }, /^max_recipients_per_message must be >= 1/],
    [{ status: 'gone' }, /^status must be one of active, disabled/],
    [{ name: '  ' }, /^name must not be blank/],
    [{ name: 'x'.repeat(256) }, /^name must have at most 255 characters/],
  ]
  for (const [patch, message] of cases) {
    const { status, body } = await api.patch(`/v1/tenants/${tenant.id}`, patch)
    assert.equal(status, 400, JSON.stringify(patch))
    assert.equal(body.error.code, 'invalid_request')
    assert.match(body.error.message, message)
  }
})

test('the list is paged newest first and skips and repeats nothing', async () => {
  const { api, tenants } = await anAccount({ tenants: 7 })
  const seen: string[] = []

  let path: string | null = '/v1/tenants?limit=3'
  while (path) {
    const { body } = await api.get(path)
    seen.push(...body.tenants.map((tenant: { id: string }) => tenant.id))
    path = body.next_cursor && `/v1/tenants?limit=3&cursor=${body.next_cursor}`
  }

  assert.deepEqual(seen, tenants.map(tenant => tenant.id).toReversed())
})

test('a tenant is found by its external id', async () => {
  const { api, tenants } = await anAccount({ tenants: 3 })

  const { body } = await api.get(`/v1/tenants?external_id=${tenants[1]!.external_id}`)

  assert.deepEqual(
    body.tenants.map((tenant: { id: string }) => tenant.id),
    [tenants[1]!.id],
  )
})

test('a tampered cursor, and one of another list, answer 400', async () => {
  const { api } = await anAccount({ tenants: 2 })
  const { body } = await api.get('/v1/tenants?limit=1')
  const good: string = body.next_cursor

  for (const cursor of [`${good}x`, good.replace(/^./, 'X'), 'nonsense', '%00', '.', 'a.b.c']) {
    assert.equal((await api.get(`/v1/tenants?cursor=${encodeURIComponent(cursor)}`)).status, 400, cursor)
  }
  assert.equal((await api.get(`/v1/api-keys?cursor=${good}`)).status, 400)
})

test('a tenant-bound key sees its own tenant only', async () => {
  const account = await anAccount({ tenants: 2 })
  const [own, other] = [account.tenants[0]!, account.tenants[1]!]
  const bound = await account.withKey({ scopes: ['read'], tenant_id: own.id })

  assert.deepEqual(
    (await bound.get('/v1/tenants')).body.tenants.map((tenant: { id: string }) => tenant.id),
    [own.id],
  )
  assert.equal((await bound.get(`/v1/tenants/${own.id}`)).status, 200)
  assert.equal((await bound.get(`/v1/tenants/${other.id}`)).status, 404)
})
