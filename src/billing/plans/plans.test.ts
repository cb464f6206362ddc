// The plan catalogue.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { anAccount, unique } from '../../../test/support/factories.ts'
import { sql } from '../../platform/db/sql.ts'

const tiers = [
  { up_to_recipients: 10_000, price_per_thousand_minor: 90 },
  { up_to_recipients: 0, price_per_thousand_minor: 70 },
]

test('the operator creates, reads and changes a plan, and each change is audited', async () => {
  const { operator, app } = await theBox()
  const input = {
    name: 'Growth',
    currency: 'USD',
    base_price_minor: 4_900,
    included_recipients: 5_000,
    overage_per_thousand_minor: 0,
    tiers,
    payment_price_id: unique('price'),
  }

  const created = await operator.post('/admin/v1/plans', input)
  const { id } = created.body
  const changed = await operator.patch(`/admin/v1/plans/${id}`, { base_price_minor: 5_900, payment_price_id: null })
  const again = await operator.patch(`/admin/v1/plans/${id}`, changed.body)

  assert.equal(created.status, 201)
  assert.deepEqual(created.body, { ...created.body, ...input, active: true, archived_at: null })
  assert.equal(changed.status, 200)
  assert.deepEqual(changed.body, { ...created.body, base_price_minor: 5_900, payment_price_id: null })
  assert.deepEqual(again.body, changed.body)
  assert.deepEqual((await operator.get(`/admin/v1/plans/${id}`)).body, changed.body)
  const entries = await auditOf(app, id)
  assert.deepEqual(
    entries.map(entry => entry.action),
    ['plan.create', 'plan.update'],
  )
  assert.deepEqual(entries[1]!.after, { base_price_minor: 5_900, payment_price_id: null })
})

test('a name is enough: a plan costs nothing where nothing is said', async () => {
  const { operator } = await theBox()
  const { status, body } = await operator.post('/admin/v1/plans', { name: 'Free' })
  assert.equal(status, 201)
  assert.deepEqual(
    { ...body, id: 0, created_at: 0 },
    {
      id: 0,
      name: 'Free',
      currency: 'EUR',
      base_price_minor: 0,
      included_recipients: 0,
      overage_per_thousand_minor: 0,
      tiers: [],
      payment_price_id: null,
      active: true,
      created_at: 0,
      archived_at: null,
    },
  )
})

test('an archived plan is kept, leaves the catalogue and is not changed any more', async () => {
  const { api, box } = await anAccount({ tenants: 0 })
  const { operator } = box
  const { body: plan } = await operator.post('/admin/v1/plans', { name: 'Old' })

  assert.equal((await operator.delete(`/admin/v1/plans/${plan.id}`)).status, 204)
  assert.equal((await operator.delete(`/admin/v1/plans/${plan.id}`)).status, 204)

  const idsIn = async (path: string, client = operator) =>
    (await client.get(path)).body.plans.map((each: { id: string }) => each.id)
  assert.ok((await idsIn('/admin/v1/plans')).includes(plan.id))
  assert.ok(!(await idsIn('/admin/v1/plans?active=1')).includes(plan.id))
  assert.ok(!(await idsIn('/v1/billing/plans', api)).includes(plan.id))
  const { body: archived } = await operator.get(`/admin/v1/plans/${plan.id}`)
  assert.equal(archived.active, false)
  assert.ok(archived.archived_at)
  const change = await operator.patch(`/admin/v1/plans/${plan.id}`, { base_price_minor: 1 })
  assert.deepEqual([change.status, change.body.error.code], [409, 'conflict'])
  assert.equal((await operator.patch(`/admin/v1/plans/${plan.id}`, archived)).status, 200)
  assert.deepEqual(
    (await auditOf(box.app, plan.id)).map(entry => entry.action),
    ['plan.create', 'plan.archive'],
  )
})

test('accounts and their tenants read the active catalogue, page by page', async () => {
  const account = await anAccount()
  const { operator } = account.box
  const ids: string[] = []
  for (const name of ['A', 'B', 'C']) ids.unshift((await operator.post('/admin/v1/plans', { name })).body.id)

  const first = await account.api.get('/v1/billing/plans?limit=2')
  const second = await account.api.get(`/v1/billing/plans?limit=2&cursor=${first.body.next_cursor}`)
  const seen = [...first.body.plans, ...second.body.plans].map((plan: { id: string }) => plan.id)

  assert.deepEqual(seen.slice(0, 3), ids)
  const bound = await account.withKey({ scopes: ['read'], tenant_id: account.tenant.id })
  assert.equal((await bound.get('/v1/billing/plans')).status, 200)
})

test('int64 values are exact as far as JSON numbers are, and refused beyond', async () => {
  const { operator } = await theBox()
  const largest = Number.MAX_SAFE_INTEGER
  const { body } = await operator.post('/admin/v1/plans', {
    name: 'Large',
    base_price_minor: largest,
    included_recipients: largest,
    overage_per_thousand_minor: largest,
    tiers: [{ up_to_recipients: 0, price_per_thousand_minor: largest }],
  })
  const read = await operator.get(`/admin/v1/plans/${body.id}`)
  assert.equal(read.body.base_price_minor, largest)
  assert.equal(read.body.included_recipients, largest)
  assert.equal(read.body.tiers[0].price_per_thousand_minor, largest)
  for (const value of [
    '9007199254740992',
    '9007199254740993',
    '9223372036854775807',
    '1e300',
    '1.5',
    '-1',
    '"1"',
    'null',
  ])
    for (const field of ['base_price_minor', 'included_recipients', 'overage_per_thousand_minor']) {
      const { status } = await operator.post('/admin/v1/plans', `{"name":"x","${field}":${value}}`)
      assert.equal(status, 400, `${field}: ${value}`)
    }
})

test('tiers ascend and have one open end, the last', async () => {
  const { operator } = await theBox()
  const { body: plan } = await operator.post('/admin/v1/plans', { name: 'Tiered', tiers })
  const ends = [[10], [0, 0], [0, 10], [10, 10, 0], [20, 10, 0], [10, 0, 20], [10, 20], [-1, 0], [1.5, 0]]
  for (const wrong of ends) {
    const body = { tiers: wrong.map(end => ({ up_to_recipients: end, price_per_thousand_minor: 1 })) }
    const created = await operator.post('/admin/v1/plans', { name: 'x', ...body })
    const changed = await operator.patch(`/admin/v1/plans/${plan.id}`, body)
    assert.deepEqual([created.status, changed.status], [400, 400], String(wrong))
    assert.match(created.body.error.message, /tiers\[\d\]\.up_to_recipients/)
  }
  const incomplete = await operator.post('/admin/v1/plans', { name: 'x', tiers: [{ up_to_recipients: 0 }] })
  assert.match(incomplete.body.error.message, /tiers\[0\]\.price_per_thousand_minor is required/)
  const many = Array.from({ length: 51 }, (_, n) => ({ up_to_recipients: (n + 1) % 51, price_per_thousand_minor: 1 }))
  assert.equal((await operator.post('/admin/v1/plans', { name: 'x', tiers: many })).status, 400)
  assert.equal((await operator.post('/admin/v1/plans', { name: 'x', tiers: many.slice(1) })).status, 201)
  assert.deepEqual((await operator.patch(`/admin/v1/plans/${plan.id}`, { tiers: [] })).body.tiers, [])
})

test('bad plans answer 400, unknown ones 404, and active is 1 or nothing', async () => {
  const { operator } = await theBox()
  for (const body of [
    {},
    { name: '' },
    { name: ' ' },
    { name: 'x'.repeat(256) },
    { name: 1 },
    { name: 'x', currency: 'EURO' },
    { name: 'x', currency: '€' },
    { name: 'x', currency: null },
    { name: 'x', payment_price_id: '' },
    { name: 'x', payment_price_id: 'a b' },
    { name: 'x', tiers: {} },
  ]) {
    assert.equal((await operator.post('/admin/v1/plans', body)).status, 400, JSON.stringify(body))
  }
  for (const active of ['0', 'true', '', '2', '1,1']) {
    assert.equal((await operator.get(`/admin/v1/plans?active=${active}`)).status, 400, active)
  }
  for (const id of [randomUUID(), 'x']) {
    assert.equal((await operator.get(`/admin/v1/plans/${id}`)).status, 404)
    assert.equal((await operator.patch(`/admin/v1/plans/${id}`, { name: 'x' })).status, 404)
    assert.equal((await operator.delete(`/admin/v1/plans/${id}`)).status, 404)
  }
})

test('a price of the payment provider is sold as one active plan', async () => {
  const { operator } = await theBox()
  const payment_price_id = unique('price')
  const { body: first } = await operator.post('/admin/v1/plans', { name: 'A', payment_price_id })
  const { body: other } = await operator.post('/admin/v1/plans', { name: 'B' })

  assert.equal((await operator.post('/admin/v1/plans', { name: 'C', payment_price_id })).status, 409)
  assert.equal((await operator.patch(`/admin/v1/plans/${other.id}`, { payment_price_id })).status, 409)
  await operator.delete(`/admin/v1/plans/${first.id}`)
  assert.equal((await operator.patch(`/admin/v1/plans/${other.id}`, { payment_price_id })).status, 200)
})

async function auditOf(app: Awaited<ReturnType<typeof theBox>>['app'], id: string) {
  return app.world.db.many<{ action: string; after: object }>(
    sql`select action, after from audit_entries where target_id = ${id} order by id`,
  )
}
