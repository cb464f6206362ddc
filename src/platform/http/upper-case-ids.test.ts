// Ids in upper case are the same ids: in a path, a query and a body, in locks, pauses and the audit log.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'

test('ids in upper case name what they name in lower case, and the audit log stays whole', async () => {
  const box = await theBox()
  const account = await anAccount({ box })
  const { api, tenant } = account
  const upper = tenant.id.toUpperCase()

  assert.equal((await api.patch(`/v1/tenants/${upper}`, { name: 'Renamed' })).body.id, tenant.id)
  const suppressed = await api.post('/v1/suppressions', { address: 'a@b.example', tenant_id: upper })
  assert.equal(suppressed.body.tenant_id, tenant.id)
  const keyed = await api.post('/v1/api-keys', { name: 'Key', scopes: ['send'], tenant_id: upper })
  assert.equal(keyed.body.tenant_id, tenant.id)
  const listed = await api.get(`/v1/suppressions?tenant_id=${upper}`)
  assert.equal(listed.body.total, 1)

  const scope = { scope_type: 'tenant', scope_value: upper }
  assert.equal((await api.post('/v1/suspensions', scope)).status, 201)
  assert.equal((await api.post(`/v1/tenants/${tenant.id}/resume`)).status, 200)
  assert.equal((await box.operator.post(`/admin/v1/accounts/${account.id.toUpperCase()}/pause`)).status, 200)
  assert.equal((await box.operator.post(`/admin/v1/accounts/${account.id}/resume`)).status, 200)

  const { body } = await box.operator.get('/admin/v1/audit/verify')
  assert.equal(body.intact, true, JSON.stringify(body))
})
