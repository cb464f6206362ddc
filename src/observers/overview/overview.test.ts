// GET /v1/overview and GET /admin/v1/accounts/{id}/health.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, type TestAccount } from '../../../test/support/factories.ts'
import { counted, happen, nothingBut, send } from '../metrics/counted.fixture.ts'

const still = () => aBox({ environment: { ROLES: 'api' } })

/** Two tenants with mail, one of them in trouble, and a neighbour whose figures must show nowhere. */
async function aBusyAccount(): Promise<TestAccount> {
  const account = await anAccount({ sandbox: true, tenants: 2, box: await still() })
  const [well, ill] = [account.tenants[0]!, account.tenants[1]!]
  await send(account, { tenantId: well.id, to: ['a@example.com', 'b@example.com'] })
  await happen(
    account,
    { type: 'delivered', tenantId: well.id, times: 2 },
    { type: 'delivered', tenantId: ill.id, times: 180 },
    { type: 'bounced', tenantId: ill.id, data: { bounce_type: 'hard' }, times: 20 },
    { type: 'auth_failed', data: {} },
  )
  const neighbour = await anAccount({ sandbox: true, box: account.box })
  await send(neighbour)
  await Promise.all([anAlert(neighbour), anActivePause(neighbour, 'neighbour')])
  await counted(account.box)
  return account
}

const anAlert = ({ box, id, tenant }: TestAccount, ackedAt: Date | null = null) =>
  box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into alerts (id, account_id, tenant_id, kind, severity, title, data, created_at, acked_at)
      values (${newId(tx.now)}, ${id}, ${tenant.id}, 'rule', 'warning', 'x', '{}', ${tx.now}, ${ackedAt})`),
  )

const anActivePause = ({ box, id }: TestAccount, tag: string, status = 'active') =>
  box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into suspensions (id, account_id, scope_type, scope_value, reason, queue_action, source, status, created_at)
      values (${newId(tx.now)}, ${id}, 'rule', ${`tag:${tag}`}, 'Testing', 'hold', 'api', ${status}, ${tx.now})`),
  )

test('an account sees totals, every tenant with its health, the queue, alerts and pauses', async () => {
  const account = await aBusyAccount()
  const { clock } = account.box
  await anAlert(account)
  await anAlert(account, clock.now())
  await anActivePause(account, 'first')
  await anActivePause(account, 'second')
  await anActivePause(account, 'over', 'resumed')

  const { status, body } = await account.api.get('/v1/overview')

  assert.equal(status, 200)
  assert.deepEqual(body.totals_24h, nothingBut({ recipients: 2, delivered: 182, hard_bounces: 20, auth_failures: 1 }))
  const [well, ill] = account.tenants
  const rates = { bounce: 0, block: 0, complaint: 0 }
  const none = { recipients_24h: 0, bounce_rate: 0, block_rate: 0, complaint_rate: 0, rates }
  assert.deepEqual(body.tenants, [
    {
      ...none,
      tenant_id: ill!.id,
      name: ill!.name,
      health: 'critical',
      bounce_rate: 0.1,
      rates: { ...rates, bounce: 0.1 },
    },
    { ...none, tenant_id: well!.id, name: well!.name, health: 'ok', recipients_24h: 2 },
  ])
  assert.deepEqual(body.queue, (await account.api.get('/v1/queue')).body)
  assert.equal(body.queue.queued, 2)
  assert.equal(body.unacked_alerts, 1)
  assert.equal(body.active_suspensions_count, 2)
  const [newest] = body.active_suspensions
  assert.deepEqual(
    { ...newest, id: '', created_at: '' },
    {
      id: '',
      scope: 'rule:tag:second',
      tenant_id: null,
      only_tenant: false,
      reason: 'Testing',
      queue_action: 'hold',
      created_at: '',
    },
  )
  assert.equal(body.active_suspensions[1].scope, 'rule:tag:first')
})

test("a tenant's key sees its own slice, and what concerns the account is left out", async () => {
  const account = await aBusyAccount()
  await anAlert(account)
  await anActivePause(account, 'first')
  const [well] = account.tenants
  const bound = await account.withKey({ scopes: ['read'], tenant_id: well!.id })

  const { body } = await bound.get('/v1/overview')

  assert.deepEqual(Object.keys(body).toSorted(), ['tenants', 'totals_24h'])
  assert.deepEqual(body.totals_24h, nothingBut({ recipients: 2, delivered: 2 }))
  assert.deepEqual(
    body.tenants.map((each: { tenant_id: string }) => each.tenant_id),
    [well!.id],
  )
})

test('an account without mail has zeros', async () => {
  const { api } = await anAccount({ tenants: 0 })
  const { body } = await api.get('/v1/overview')
  assert.deepEqual(body, {
    totals_24h: nothingBut({}),
    tenants: [],
    queue: { queued: 0, held: 0, sending: 0, deferred: 0, oldest_due_at: null },
    unacked_alerts: 0,
    active_suspensions: [],
    active_suspensions_count: 0,
  })
})

test('only the newest 100 pauses are listed, and all are counted', async () => {
  const account = await anAccount({ box: await still() })
  for (let n = 0; n < 103; n++) await anActivePause(account, `t${n}`)
  const { body } = await account.api.get('/v1/overview')
  assert.equal(body.active_suspensions.length, 100)
  assert.equal(body.active_suspensions[0].scope, 'rule:tag:t102')
  assert.equal(body.active_suspensions_count, 103)
})

test("the operator sees an account's overview beside its record", async () => {
  const account = await aBusyAccount()
  const { operator } = account.box
  const { body: list } = await operator.get('/admin/v1/accounts')

  const { status, body } = await operator.get(`/admin/v1/accounts/${account.id}/health`)

  assert.equal(status, 200)
  const { account: record, ...overview } = body
  assert.deepEqual(
    record,
    list.accounts.find((each: { id: string }) => each.id === account.id),
  )
  assert.deepEqual(overview, (await account.api.get('/v1/overview')).body)
  assert.equal((await operator.get(`/admin/v1/accounts/${randomUUID()}/health`)).status, 404)
  assert.equal((await operator.get('/admin/v1/accounts/nobody/health')).status, 404)
  assert.equal((await account.api.get(`/admin/v1/accounts/${account.id}/health`)).status, 401)
})
