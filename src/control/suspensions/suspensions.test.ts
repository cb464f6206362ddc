// Pausing and resuming over the API: scopes, idempotency, who may, and what is written about it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAccount, unique, type TestAccount } from '../../../test/support/factories.ts'

const NOWHERE = '01890000-0000-7000-8000-000000000000'

async function aDomain({ api, tenant }: TestAccount): Promise<string> {
  const name = `${unique('paused')}.sluice.test`
  const created = await api.post(`/v1/tenants/${tenant.id}/domains`, { name })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return name
}

const pause = (account: TestAccount, scope_type: string, scope_value?: string, fields: object = {}) =>
  account.api.post('/v1/suspensions', { scope_type, ...(scope_value !== undefined && { scope_value }), ...fields })

test('each scope that the account has can be paused, and is named by type and value', async () => {
  const account = await anAccount()
  const domain = await aDomain(account)
  const tenantId = account.tenant.id
  const credential = await account.api.post(`/v1/tenants/${tenantId}/smtp-credentials`, {})
  const key = await account.api.post('/v1/api-keys', { name: 'k', scopes: ['send'], tenant_id: tenantId })
  const scopes: [string, string, string, string | null][] = [
    ['account', account.id, account.id, null],
    ['tenant', tenantId, tenantId, tenantId],
    ['domain', domain.toUpperCase(), domain, tenantId],
    ['sender', `News@${domain}`, `news@${domain}`, tenantId],
    ['credential', credential.body.id, credential.body.id, tenantId],
    ['api_key', key.body.id, key.body.id, tenantId],
    ['rule', 'tag:spring sale', 'tag:spring sale', null],
    ['rule', 'recipient_domain:Bücher.Example', 'recipient_domain:xn--bcher-kva.example', null],
  ]
  for (const [type, value, stored, tenant] of scopes) {
    const { status, body } = await pause(account, type, value, { reason: 'a look' })
    assert.equal(status, 201, `${type}: ${JSON.stringify(body)}`)
    assert.deepEqual(
      [body.scope, body.tenant_id, body.created, body.status, body.held_count, body.queue_action, body.source],
      [`${type}:${stored}`, tenant, true, 'active', 0, 'hold', 'api'],
    )
    assert.equal(body.reason, 'a look')
    assert.match(body.created_by, /^api_key:/)
  }
  assert.equal((await account.api.get('/v1/account')).body.status, 'paused')
  const { body: list } = await account.api.get('/v1/suspensions?status=active&limit=3')
  assert.equal(list.suspensions.length, 3)
  const { body: rest } = await account.api.get(`/v1/suspensions?status=active&cursor=${list.next_cursor}`)
  assert.equal(rest.suspensions.length, scopes.length - 3)
  assert.equal((await account.api.get('/v1/suspensions?status=resumed')).body.suspensions.length, 0)
})

test('an account may be meant without naming it; another value is not found', async () => {
  const account = await anAccount()
  assert.equal((await pause(account, 'account', NOWHERE)).status, 404)
  const { status, body } = await pause(account, 'account')
  assert.deepEqual([status, body.scope_value], [201, account.id])
})

test('the same request again answers 200 and creates nothing', async () => {
  const account = await anAccount()
  const first = await pause(account, 'tenant', account.tenant.id, { reason: 'one' })
  const second = await pause(account, 'tenant', account.tenant.id, { reason: 'two', queue_action: 'reject' })
  const third = await account.api.post(`/v1/tenants/${account.tenant.id}/pause`, { reason: 'three' })
  assert.deepEqual([first.status, second.status, third.status], [201, 200, 200])
  assert.deepEqual([second.body.id, third.body.id], [first.body.id, first.body.id])
  assert.deepEqual([second.body.created, second.body.reason, second.body.queue_action], [false, 'one', 'hold'])
  const { body } = await account.api.get('/v1/events?type=suspended')
  assert.equal(body.events.length, 1)
  assert.equal((await account.api.get('/v1/audit?action=suspension.create')).body.entries.length, 1)
  assert.equal((await account.api.get('/v1/audit?action=tenant.pause')).body.entries.length, 0)
})

test('twenty callers at once make one pause', async () => {
  const account = await anAccount()
  const replies = await Promise.all(Array.from({ length: 20 }, () => pause(account, 'tenant', account.tenant.id)))
  assert.deepEqual(replies.map(reply => reply.status).toSorted(), [...Array.from({ length: 19 }, () => 200), 201])
  assert.equal(new Set(replies.map(reply => reply.body.id)).size, 1)
})

test('an unknown or foreign scope is 404, an impossible one 400', async () => {
  const account = await anAccount()
  const other = await anAccount()
  const foreignDomain = await aDomain(other)
  for (const [type, value] of [
    ['tenant', NOWHERE],
    ['tenant', other.tenant.id],
    ['tenant', 'not-an-id'],
    ['credential', NOWHERE],
    ['api_key', NOWHERE],
    ['domain', foreignDomain],
    ['domain', 'no dot'],
    ['sender', `a@${foreignDomain}`],
  ]) {
    const { status, body } = await pause(account, type!, value)
    assert.deepEqual([status, body.error?.code], [404, 'not_found'], `${type}:${value}`)
  }
  for (const [type, value] of [
    ['tenant', undefined],
    ['sender', 'not an address'],
    ['rule', 'colour:red'],
    ['rule', 'tag:'],
    ['rule', 'recipient_domain:no dot'],
    ['galaxy', 'x'],
  ]) {
    assert.equal((await pause(account, type!, value)).status, 400, `${type}:${value}`)
  }
  assert.equal((await pause(account, 'tenant', account.tenant.id, { queue_action: 'drop' })).status, 400)
  assert.equal((await account.api.get('/v1/suspensions')).body.suspensions.length, 0)
})

test('queue_action is the account’s suspend_mode where it is not given; for a tenant pause it is hold', async () => {
  const account = await anAccount()
  assert.equal((await account.api.patch('/v1/account', { suspend_mode: 'reject' })).status, 200)
  assert.equal((await pause(account, 'rule', 'tag:a')).body.queue_action, 'reject')
  assert.equal((await account.api.post(`/v1/tenants/${account.tenant.id}/pause`)).body.queue_action, 'hold')
})

test('a tenant is paused and resumed by its path; a tenant that is not paused is 404 on resume', async () => {
  const account = await anAccount()
  const path = `/v1/tenants/${account.tenant.id}`
  assert.equal((await account.api.post(`${path}/resume`)).status, 404)
  const paused = await account.api.post(`${path}/pause`, { reason: 'spam run', queue_action: 'reject' })
  assert.equal(paused.status, 201)
  const resumed = await account.api.post(`${path}/resume`, { note: 'cleaned up' })
  assert.deepEqual(
    [resumed.status, resumed.body.id, resumed.body.status, resumed.body.affected_deliveries],
    [200, paused.body.id, 'resumed', 0],
  )
  assert.deepEqual([resumed.body.resume_note, resumed.body.resume_action], ['cleaned up', 'release'])
  assert.equal((await account.api.post(`${path}/resume`)).status, 404)
  const { body: audit } = await account.api.get('/v1/audit?action=tenant.resume')
  assert.equal(audit.entries.length, 1)
  assert.equal(audit.entries[0].after.note, 'cleaned up')
  assert.equal(audit.entries[0].actor.type, 'api_key')
  const { body: events } = await account.api.get('/v1/events?type=resumed')
  assert.deepEqual(events.events[0].data, {
    suspension_id: paused.body.id,
    scope: `tenant:${account.tenant.id}`,
    action: 'release',
    affected_deliveries: 0,
  })
})

test('resuming what is resumed answers 200 with nothing affected and changes nothing', async () => {
  const account = await anAccount()
  const { body } = await pause(account, 'rule', 'tag:x')
  const path = `/v1/suspensions/${body.id}/resume`
  const first = await account.api.post(path, { action: 'purge', note: 'first' })
  const second = await account.api.post(path, { action: 'release', note: 'second' })
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.deepEqual(
    [second.body.affected_deliveries, second.body.resume_note, second.body.resume_action],
    [0, 'first', 'purge'],
  )
  assert.equal((await account.api.get('/v1/audit?action=suspension.resume')).body.entries.length, 1)
  assert.equal((await account.api.post(path, { action: 'shred' })).status, 400)
})

test("the operator's pause is resumed by the operator only, and stands beside the account's own", async () => {
  const account = await anAccount()
  const { operator } = account.box
  const own = await pause(account, 'account')
  const paused = await operator.post(`/admin/v1/accounts/${account.id}/pause`, { reason: 'unpaid' })
  assert.deepEqual([paused.status, paused.body.source, paused.body.created], [200, 'operator', true])
  const again = await operator.post(`/admin/v1/accounts/${account.id}/pause`)
  assert.deepEqual([again.status, again.body.id, again.body.created], [200, paused.body.id, false])

  const refused = await account.api.post(`/v1/suspensions/${paused.body.id}/resume`)
  assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
  assert.equal((await account.api.post(`/v1/suspensions/${own.body.id}/resume`)).status, 200)
  assert.equal((await account.api.get('/v1/account')).body.status, 'paused')

  const resumed = await operator.post(`/admin/v1/accounts/${account.id}/resume`)
  assert.deepEqual([resumed.status, resumed.body.id, resumed.body.resumed_by], [200, paused.body.id, 'operator'])
  assert.equal((await account.api.get('/v1/account')).body.status, 'active')
  assert.equal((await operator.post(`/admin/v1/accounts/${account.id}/resume`)).status, 404)
  assert.equal((await operator.post(`/admin/v1/accounts/${NOWHERE}/pause`)).status, 404)
})

test("a tenant's key sees the pauses that touch its tenant, and no other", async () => {
  const account = await anAccount({ tenants: 2 })
  const [mine, theirs] = account.tenants
  const key = await account.withKey({ scopes: ['read'], tenant_id: mine!.id })
  const ownPause = await pause(account, 'tenant', mine!.id)
  const otherPause = await pause(account, 'tenant', theirs!.id)
  const tag = await pause(account, 'rule', 'tag:both')
  const { body } = await key.get('/v1/suspensions')
  assert.deepEqual(
    body.suspensions.map((each: { id: string }) => each.id),
    [tag.body.id, ownPause.body.id],
  )
  assert.equal((await key.get(`/v1/suspensions/${ownPause.body.id}`)).status, 200)
  assert.equal((await key.get(`/v1/suspensions/${otherPause.body.id}`)).status, 404)
  assert.equal((await key.post(`/v1/tenants/${mine!.id}/pause`)).status, 403)
})

test("a pause of a domain that two tenants have is seen by their keys, and not by a third tenant's", async () => {
  const account = await anAccount({ tenants: 3 })
  const ids = account.tenants.map(({ id }) => id)
  for (const id of ids.slice(0, 2)) await account.api.post(`/v1/tenants/${id}/domains`, { name: 'shared.example.com' })
  for (const scope of [
    { scope_type: 'domain', scope_value: 'shared.example.com' },
    { scope_type: 'sender', scope_value: 'news@shared.example.com' },
  ]) {
    assert.equal((await account.api.post('/v1/suspensions', scope)).status, 201)
  }
  const seen = ids.map(async id => {
    const key = await account.withKey({ scopes: ['read'], tenant_id: id })
    return (await key.get('/v1/suspensions')).body.suspensions.length
  })
  assert.deepEqual(await Promise.all(seen), [2, 2, 0])
})

test('a pause of a domain goes with the name: the tenant that has it now sees the pause, no tenant the mail of another', async () => {
  const account = await anAccount({ tenants: 2 })
  const [first, second] = account.tenants.map(({ id }) => id)
  const keys = await Promise.all([first, second].map(id => account.withKey({ scopes: ['read'], tenant_id: id! })))
  const name = 'moved.example.com'
  const { body: domain } = await account.api.post(`/v1/tenants/${first}/domains`, { name })
  const { body: made } = await pause(account, 'domain', name)
  const seen = () => Promise.all(keys.map(async key => (await key.get(`/v1/suspensions/${made.id}`)).body))
  assert.deepEqual(
    (await seen()).map(each => each.held_count ?? each.error.code),
    [0, 'not_found'],
  )

  assert.equal((await account.api.delete(`/v1/domains/${domain.id}`)).status, 204)
  assert.equal((await account.api.post(`/v1/tenants/${second}/domains`, { name })).status, 201)

  const [former, present] = await seen()
  for (const each of [former, present]) {
    assert.equal(each.status, 'active')
    assert.equal('held_count' in each || 'evidence' in each || 'created_by' in each, false)
  }
  const lists = await Promise.all(keys.map(async key => (await key.get('/v1/suspensions')).body.suspensions.length))
  assert.deepEqual(lists, [1, 1])
})

test("a tenant's key is not told who resumed a pause that spans tenants, nor why; of its own pause it is", async () => {
  const account = await anAccount({ tenants: 2 })
  const key = await account.withKey({ scopes: ['read'], tenant_id: account.tenant.id })
  const [tag, own] = [await pause(account, 'rule', 'tag:both'), await pause(account, 'tenant', account.tenant.id)]
  for (const { body } of [tag, own]) {
    const resumed = await account.api.post(`/v1/suspensions/${body.id}/resume`, { note: 'the other tenant paid' })
    assert.equal(resumed.status, 200)
  }
  const { body: list } = await key.get('/v1/suspensions')
  const shared = list.suspensions.find((each: { id: string }) => each.id === tag.body.id)
  for (const seen of [shared, (await key.get(`/v1/suspensions/${tag.body.id}`)).body]) {
    assert.deepEqual([seen.status, seen.resumed_by, seen.resume_note], ['resumed', null, null])
    assert.equal('created_by' in seen || 'evidence' in seen, false)
  }
  for (const api of [key, account.api]) {
    const { body } = await api.get(`/v1/suspensions/${own.body.id}`)
    assert.equal(body.resume_note, 'the other tenant paid')
    assert.match(body.resumed_by, /^api_key:/)
  }
})
