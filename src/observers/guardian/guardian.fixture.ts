// What the guardian reads, made by hand: roll-ups in the shape in which the journal's counting leaves them. The box runs no
// workers; tests make each pass themselves and move the clock.
import assert from 'node:assert/strict'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount } from '../../../test/support/factories.ts'
import { onePerFile } from '../../../test/support/file-end.ts'
import { system } from '../../platform/db/actor.ts'
import { commaSeparated, sql } from '../../platform/db/sql.ts'
import { advanceTail, readTailOnce } from '../../platform/work/tail.ts'
import type { World } from '../../platform/world.ts'
import { alertTail } from '../alerts/take-alerts.ts'
import { evaluate } from './evaluate.ts'
import { COUNTED, type Counters } from './metric.ts'
import type { ScopeType } from './rule.ts'
import { ofEachCounter } from '../metrics/counters.ts'

/** Without a worker: nothing happens but what the test does. */
export const aQuietBox = onePerFile(() => aBox({ environment: { ROLES: 'api' } }))

export type Watched = Awaited<ReturnType<typeof aWatchedAccount>>

interface Where {
  tenantId?: string
  scopeType?: ScopeType
  scopeValue?: string
  /** Before now. */
  secondsAgo?: number
}

export interface AlertView {
  id: string
  rule: string
  severity: string
  title: string
  scope: string
  tenant_id: string | null
  data: Record<string, unknown>
}

export interface PauseView {
  id: string
  scope_type: string
  scope_value: string
  tenant_id: string | null
  only_tenant: boolean
  queue_action: string
  source: string
  rule_id: string
  status: string
  evidence: Record<string, unknown>
}

/** Everything that the journal holds becomes alerts. */
export async function makeAlerts(world: World): Promise<void> {
  for (let read = await readTailOnce(world, alertTail); read > 0;) read = await advanceTail(world, alertTail)
}

export async function aWatchedAccount({
  tenants = 1,
  sandbox = false,
  box: given,
}: { tenants?: number; sandbox?: boolean; box?: Box } = {}) {
  const box = given ?? (await aQuietBox())
  const account = await anAccount({ tenants, sandbox, box })
  const { world } = box.app
  const tenantId = account.tenant.id
  const alerts = async (): Promise<AlertView[]> =>
    (await account.api.get('/v1/alerts?limit=500')).body.alerts.toReversed() as AlertView[]
  return {
    account,
    world,
    box,
    tenantId,
    alerts,
    /** Adds to what was counted: of the tenant now, unless said otherwise. */
    count: (counted: Partial<Counters>, where: Where = {}) =>
      count(world, { accountId: account.id, tenantId, ...where }, counted),
    /** One pass of the guardian, then the alerts that came of it. */
    pass: async () => {
      assert.ok(await evaluate(world))
      await makeAlerts(world)
    },
    /** Names of the rules that have raised an alert, in order. */
    fired: async () => (await alerts()).map(alert => alert.rule),
    pauses: () =>
      world.db.many<PauseView>(sql`
        select id, scope_type, scope_value, tenant_id, only_tenant, queue_action, source, rule_id, status, evidence from suspensions
        where account_id = ${account.id} order by id`),
    throttle: (of = tenantId) =>
      world.db.maybe<{ rate_per_minute: number; rule_name: string }>(
        sql`select rate_per_minute, rule_name from tenant_throttles where tenant_id = ${of}`,
      ),
    audited: async (action: string) =>
      (
        await world.db.one<{ total: number }>(sql`
          select count(*) as total from audit_entries where account_id = ${account.id} and action = ${action}`)
      ).total,
    saveRule: async (rule: object) => {
      const saved = await account.api.put('/v1/rules', rule)
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
      return saved.body as { id: string }
    },
    advance: (seconds: number) => box.clock.advance(seconds * 1000),
  }
}

/** Answers the time that it was counted for. */
export async function count(
  world: World,
  where: Where & { accountId: string; tenantId: string },
  counted: Partial<Counters>,
): Promise<Date> {
  const { accountId, tenantId, scopeType = 'tenant', scopeValue = tenantId, secondsAgo = 0 } = where
  const at = new Date(world.clock.now().getTime() - secondsAgo * 1000)
  await world.db.transact(system('test'), async tx => {
    for (const [table, unit] of [
      [sql`metric_minutes`, 'minute'],
      [sql`metric_hours`, 'hour'],
    ] as const) {
      await tx.run(sql`
        insert into ${table} as m (account_id, scope_type, scope_value, tenant_id, start, ${ofEachCounter(each => each)})
        values (${accountId}, ${scopeType}, ${scopeValue}, ${tenantId}, date_trunc(${unit}, ${at}::timestamptz, 'UTC'),
          ${commaSeparated(COUNTED.map(name => sql`${counted[name] ?? 0}`))})
        on conflict (account_id, scope_type, scope_value, tenant_id, start) do update set
          ${ofEachCounter(each => sql`${each} = m.${each} + excluded.${each}`)}`)
    }
    await tx.run(sql`
      insert into metric_activity (account_id, scope_type, scope_value, tenant_id, counted_at)
      values (${accountId}, ${scopeType}, ${scopeValue}, ${tenantId}, ${tx.now})
      on conflict (account_id, scope_type, scope_value, tenant_id) do update set counted_at = excluded.counted_at`)
  })
  return at
}

/** Logins of a credential from so many addresses. */
export async function logins(
  world: World,
  where: { accountId: string; tenantId: string; credentialId: string; secondsAgo?: number },
  addresses: number,
): Promise<void> {
  const at = new Date(world.clock.now().getTime() - (where.secondsAgo ?? 0) * 1000)
  await world.db.transact(system('test'), tx =>
    tx.run(sql`
      insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
      select ${where.credentialId}::uuid, date_trunc('minute', ${at}::timestamptz), '192.0.2.' || n, ${where.accountId}::uuid,
        ${where.tenantId}::uuid
      from generate_series(1, ${addresses}::integer) n on conflict do nothing`),
  )
}

/** mulberry32: the same numbers at every run of a seed. */
export function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}
