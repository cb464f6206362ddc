// Accounts and their settings.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'

test('the operator creates an account and gets its bootstrap admin key once', async () => {
  const { operator, client } = await theBox()

  const { status, body } = await operator.post('/admin/v1/accounts', { name: 'Acme' })

  assert.equal(status, 201)
  assert.equal(body.account.data_region, 'eu')
  assert.equal(body.account.sandbox, false)
  assert.deepEqual(body.api_key.scopes, ['admin'])
  assert.equal((await client(body.api_key.secret).get('/v1/account')).body.id, body.account.id)
})

test('account settings begin with the documented defaults', async () => {
  const { api } = await anAccount()
  const { body } = await api.get('/v1/account')
  assert.deepEqual(
    {
      suspend_mode: body.suspend_mode,
      hold_ttl_seconds: body.hold_ttl_seconds,
      body_retention_days: body.body_retention_days,
      metadata_retention_days: body.metadata_retention_days,
      hide_suppression_reason: body.hide_suppression_reason,
      require_outbound_tls: body.require_outbound_tls,
      legal_hold: body.legal_hold,
    },
    {
      suspend_mode: 'hold',
      hold_ttl_seconds: 604_800,
      body_retention_days: 30,
      metadata_retention_days: 365,
      hide_suppression_reason: false,
      require_outbound_tls: false,
      legal_hold: false,
    },
  )
})

test('tenant and inbox principals read only id, name, status and data_region', async () => {
  const account = await anAccount()
  const inbox_id = await anInbox(account)
  for (const reach of [{ tenant_id: account.tenant.id }, { inbox_id }]) {
    const bound = await account.withKey({ scopes: ['read'], ...reach })
    const { body } = await bound.get('/v1/account')
    assert.deepEqual(Object.keys(body), ['id', 'name', 'status', 'data_region'])
  }
})

test('admins change settings, and cannot change what is the operator’s', async () => {
  const { api } = await anAccount()

  const { status, body, headers } = await api.patch('/v1/account', {
    legal_hold: true,
    suspend_mode: 'reject',
    sandbox: true,
    tier: 'gold',
  })

  assert.equal(status, 200)
  assert.equal(body.legal_hold, true)
  assert.equal(body.suspend_mode, 'reject')
  assert.equal(body.sandbox, false)
  assert.equal(headers.get('x-service-ignored-fields'), 'sandbox, tier')
  const { body: patched } = await api.patch('/v1/account', {})
  assert.deepEqual(patched, (await api.get('/v1/account')).body)
})

test('the operator sets AI, sandbox and tier, and both changes are audited in the account', async () => {
  const { api, id, box } = await anAccount()

  const { status, body } = await box.operator.patch(`/admin/v1/accounts/${id}`, {
    ai_enabled: true,
    ai_monthly_token_cap: 5,
    tier: 'gold',
  })

  assert.equal(status, 200)
  assert.equal(body.ai_monthly_token_cap, 5)
  const audit = await api.get('/v1/audit?action=account.update')
  assert.equal(audit.body.entries[0].actor.type, 'operator')
  assert.deepEqual(audit.body.entries[0].after, { ai_enabled: true, ai_monthly_token_cap: 5, tier: 'gold' })
})

test('bad settings answer 400', async () => {
  const { api } = await anAccount()
  for (const patch of [
    { hold_ttl_seconds: 0 },
    { body_retention_days: 0.5 },
    { suspend_mode: 'drop' },
    { legal_hold: 'yes' },
    { metadata_retention_days: 1e9 },
  ]) {
    assert.equal((await api.patch('/v1/account', patch)).status, 400, JSON.stringify(patch))
  }
})

test('the operator lists accounts, paged', async () => {
  const first = await anAccount({ tenants: 0 })
  const second = await anAccount({ tenants: 0 })
  const page = await first.box.operator.get('/admin/v1/accounts?limit=1')
  const next = await first.box.operator.get(`/admin/v1/accounts?limit=1&cursor=${page.body.next_cursor}`)
  assert.equal(page.body.accounts[0].id, second.id)
  assert.equal(next.body.accounts[0].id, first.id)
})
