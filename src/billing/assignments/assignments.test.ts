// Plan assignments: the account's own, rate cards of tenants, and their history.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, aTenant } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'

async function aPlan(name = 'Plan'): Promise<string> {
  const { operator } = await theBox()
  return (await operator.post('/admin/v1/plans', { name })).body.id
}

test('the operator and account admins assign plans, from today where no day is named', async () => {
  const { api, id, tenant, box } = await anAccount()
  const [first, second, card] = [await aPlan(), await aPlan(), await aPlan()]
  const today = box.clock.now().toISOString().slice(0, 10)

  const byOperator = await box.operator.post(`/admin/v1/accounts/${id}/plan`, { plan_id: first })
  const own = await api.post('/v1/billing/assignments', { plan_id: second, effective_from: '2031-02-28' })
  const rateCard = await api.post('/v1/billing/assignments', { plan_id: card, tenant_id: tenant.id })

  assert.deepEqual([byOperator.status, own.status, rateCard.status], [201, 201, 201])
  const said = ({ body }: typeof own) => [body.tenant_id, body.plan_id, body.effective_from, body.source]
  assert.deepEqual(said(byOperator), [null, first, today, 'operator'])
  assert.deepEqual(said(own), [null, second, '2031-02-28', 'account'])
  assert.deepEqual(said(rateCard), [tenant.id, card, today, 'account'])
  const listed = await api.get('/v1/billing/assignments')
  assert.deepEqual(listed.body.assignments, [rateCard.body, own.body, byOperator.body])
  const { body: audit } = await api.get('/v1/audit?action=assignment.create')
  assert.deepEqual(
    audit.entries.map((entry: { actor: { type: string }; after: { id: string } }) => [
      entry.actor.type,
      entry.after.id,
    ]),
    [
      ['api_key', rateCard.body.id],
      ['api_key', own.body.id],
      ['operator', byOperator.body.id],
    ],
  )
})

test('a tenant key sees its own rate cards and nothing of the account', async () => {
  const account = await anAccount({ tenants: 2 })
  const [plan, mine, other] = [await aPlan(), account.tenants[0]!.id, account.tenants[1]!.id]
  for (const tenant_id of [null, mine, other]) {
    assert.equal((await account.api.post('/v1/billing/assignments', { plan_id: plan, tenant_id })).status, 201)
  }
  const bound = await account.withKey({ scopes: ['read'], tenant_id: mine })

  const { body } = await bound.get('/v1/billing/assignments')

  assert.deepEqual(
    body.assignments.map((each: { tenant_id: string }) => each.tenant_id),
    [mine],
  )
  assert.equal((await bound.get(`/v1/billing/assignments?tenant_id=${other}`)).status, 404)
  assert.equal((await account.api.get(`/v1/billing/assignments?tenant_id=${other}`)).body.assignments.length, 1)
  assert.equal((await bound.post('/v1/billing/assignments', { plan_id: plan, tenant_id: mine })).status, 403)
})

test('unknown plans, tenants and accounts answer 404, archived plans 409, bad input 400', async () => {
  const { api, id, tenant, box } = await anAccount()
  const stranger = await anAccount()
  const plan_id = await aPlan()
  const archived = await aPlan()
  await box.operator.delete(`/admin/v1/plans/${archived}`)
  const post = async (body: object) => (await api.post('/v1/billing/assignments', body)).status

  assert.equal(await post({ plan_id: randomUUID() }), 404)
  assert.equal(await post({ plan_id, tenant_id: stranger.tenant.id }), 404)
  assert.equal(await post({ plan_id: archived, tenant_id: tenant.id }), 409)
  assert.equal(await post({ plan_id, tenant_id: 'x' }), 400)
  assert.equal(await post({ plan_id: 'x' }), 400)
  assert.equal(await post({}), 400)
  for (const effective_from of [
    '2026-02-30',
    '2026-13-01',
    '0000-01-01',
    '2026-1-1',
    '2026-01-01T00:00:00Z',
    '',
    null,
  ]) {
    assert.equal(await post({ plan_id, effective_from }), 400, String(effective_from))
  }
  const assign = async (account: string, body: object) =>
    (await box.operator.post(`/admin/v1/accounts/${account}/plan`, body)).status
  assert.equal(await assign(randomUUID(), { plan_id }), 404)
  assert.equal(await assign(id, { plan_id: randomUUID() }), 404)
  assert.equal(await assign(id, { plan_id: archived }), 409)
  assert.equal(await assign(id, {}), 400)
  assert.deepEqual((await api.get('/v1/billing/assignments')).body.assignments, [])
})

test('the history of an account or tenant has a bound', async () => {
  const { api, id, box, tenant } = await anAccount()
  const plan_id = await aPlan()
  await box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into plan_assignments (id, account_id, plan_id, effective_from, source, created_at)
      select gen_random_uuid(), ${id}, ${plan_id}, '2026-01-01', 'account', ${tx.now} from generate_series(1, 499)`),
  )
  const last = await api.post('/v1/billing/assignments', { plan_id })
  const over = await api.post('/v1/billing/assignments', { plan_id })
  const elsewhere = await api.post('/v1/billing/assignments', { plan_id, tenant_id: tenant.id })
  assert.deepEqual([last.status, over.status, elsewhere.status], [201, 409, 201])
})

test('assignments are listed page by page', async () => {
  const { api } = await anAccount({ tenants: 0 })
  const plan_id = await aPlan()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift((await api.post('/v1/billing/assignments', { plan_id })).body.id)
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await api.get(`/v1/billing/assignments?limit=2${cursor && `&cursor=${cursor}`}`)
    for (const each of body.assignments) seen.push(each.id)
    cursor = body.next_cursor
  }
  assert.deepEqual(seen, ids)
  await aTenant(api)
  assert.equal((await api.get('/v1/billing/assignments?cursor=forged')).status, 400)
})
