// All SQL over what the guardian remembers: its passes, the rules that are over their threshold, the throttles.
import type { Db, Tx } from '../../platform/db/database.ts'
import { locks } from '../../platform/db/locks.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { chunksOf } from './chunks.ts'
import type { Rule, Scope } from './rule.ts'

export interface State extends Scope {
  rule_name: string
  last_over: Date
  /** When its alert was acknowledged. */
  acked_at: Date | null
  is_throttled: boolean
}

/** False when another process looks or acts. */
export async function tryGuardianLock(tx: Tx): Promise<boolean> {
  const isTaken = await tx.value<boolean>(prepared`select pg_try_advisory_xact_lock(${locks.guardian})`)
  return isTaken && !(await tx.maybe(prepared`select 1 from guardian_pass where lease_until > ${tx.now}`))
}

export const findLastPass = (db: Db): Promise<Date | null> =>
  db.maybeValue<Date>(prepared`select evaluated_at from guardian_pass where id = 1`)

/** Under the guardian's lock. */
export const upsertLease = (tx: Tx, { token, until }: { token: string; until: Date }): Promise<number> =>
  tx.run(prepared`
    insert into guardian_pass (id, lease_token, lease_until) values (1, ${token}, ${until})
    on conflict (id) do update set lease_token = excluded.lease_token, lease_until = excluded.lease_until`)

/** False when the lease has lapsed and another process has begun a pass. */
export const updateLastPass = async (tx: Tx, token: string, evaluatedAt: Date): Promise<boolean> =>
  (await tx.run(prepared`
    update guardian_pass set evaluated_at = ${evaluatedAt}, lease_token = null, lease_until = null
    where lease_token = ${token}`)) > 0

export const deleteLease = (tx: Tx, token: string): Promise<number> =>
  tx.run(prepared`update guardian_pass set lease_token = null, lease_until = null where lease_token = ${token}`)

/** An account has so many of its own rules at the most (see evaluate.ts). */
export const listStatesAnywhere = (db: Db): Promise<State[]> =>
  db.many<State>(prepared`
    select s.account_id, s.scope_type, s.scope_value, s.tenant_id, s.rule_name, s.last_over, a.acked_at,
      exists (select from tenant_throttles t where t.tenant_id = s.tenant_id) as is_throttled
    from guardian_states s left join alerts a on a.id = s.alert_id`)

/** False when the state is there already: then somebody else has said so. */
export const insertState = async (tx: Tx, rule: Rule, scope: Scope): Promise<boolean> =>
  (await tx.run(sql`
    insert into guardian_states (account_id, rule_name, scope_type, scope_value, tenant_id, rule_id, action, last_over)
    values (${scope.account_id}, ${rule.name}, ${scope.scope_type}, ${scope.scope_value}, ${scope.tenant_id}, ${rule.id},
      ${rule.action}, ${tx.now})
    on conflict do nothing`)) > 0

export const updateStateAlert = (tx: Tx, rule: Rule, scope: Scope, alertId: string): Promise<number> =>
  tx.run(sql`
    update guardian_states set alert_id = ${alertId}
    where account_id = ${scope.account_id} and rule_name = ${rule.name} and scope_type = ${scope.scope_type}
      and scope_value = ${scope.scope_value} and tenant_id = ${scope.tenant_id}`)

interface StateOfRule extends Scope {
  rule: Rule
}

/** Still over: also what the rule does now, should it have been changed. */
export async function updateStatesOver(tx: Tx, states: readonly StateOfRule[]): Promise<void> {
  for (const chunk of chunksOf(states)) await updateSomeOver(tx, chunk)
}

const updateSomeOver = (tx: Tx, states: readonly StateOfRule[]): Promise<number> =>
  tx.run(prepared`
    update guardian_states s set last_over = ${tx.now}, rule_id = o.rule_id, action = o.action
    from unnest(${states.map(each => each.account_id)}::uuid[], ${states.map(each => each.rule.name)}::text[],
      ${states.map(each => each.scope_type)}::text[], ${states.map(each => each.scope_value)}::text[],
      ${states.map(each => each.tenant_id)}::uuid[], ${states.map(each => each.rule.id)}::uuid[],
      ${states.map(each => each.rule.action)}::text[])
      as o (account_id, rule_name, scope_type, scope_value, tenant_id, rule_id, action)
    where s.account_id = o.account_id and s.rule_name = o.rule_name and s.scope_type = o.scope_type
      and s.scope_value = o.scope_value and s.tenant_id = o.tenant_id`)

export async function deleteStates(tx: Tx, states: readonly State[]): Promise<void> {
  for (const chunk of chunksOf(states)) await deleteSome(tx, chunk)
}

const deleteSome = (tx: Tx, states: readonly State[]): Promise<number> =>
  tx.run(prepared`
    delete from guardian_states s
    using unnest(${states.map(each => each.account_id)}::uuid[], ${states.map(each => each.rule_name)}::text[],
      ${states.map(each => each.scope_type)}::text[], ${states.map(each => each.scope_value)}::text[],
      ${states.map(each => each.tenant_id)}::uuid[]) as o (account_id, rule_name, scope_type, scope_value, tenant_id)
    where s.account_id = o.account_id and s.rule_name = o.rule_name and s.scope_type = o.scope_type
      and s.scope_value = o.scope_value and s.tenant_id = o.tenant_id`)

/** The accounts that the installation itself sends from. */
export const listOperatorAccountsAnywhere = async (db: Db): Promise<string[]> =>
  (await db.many<{ account_id: string }>(prepared`select account_id from operator_senders`)).map(row => row.account_id)

export interface Standing {
  is_paused: boolean
  resumed_at: Date | null
}

/** Whether each scope is paused for its tenant, and when it was last resumed; in their order. */
export async function listStandings(db: Db, scopes: readonly Scope[]): Promise<Standing[]> {
  const standings: Standing[] = []
  for (const chunk of chunksOf(scopes)) for (const each of await listSomeStandings(db, chunk)) standings.push(each)
  return standings
}

const listSomeStandings = (db: Db, scopes: readonly Scope[]): Promise<Standing[]> =>
  db.many<Standing>(prepared`
    select s.is_paused, s.resumed_at
    from unnest(${scopes.map(scope => scope.account_id)}::uuid[], ${scopes.map(scope => scope.scope_type)}::text[],
      ${scopes.map(scope => scope.scope_value)}::text[], ${scopes.map(scope => scope.tenant_id)}::uuid[])
      with ordinality as w (account_id, scope_type, scope_value, tenant_id, n)
    cross join lateral (
      select coalesce(bool_or(status = 'active'), false) as is_paused, max(resumed_at) as resumed_at from suspensions p
      where p.account_id = w.account_id and p.scope_type = w.scope_type and p.scope_value = w.scope_value
        and (not p.only_tenant or p.tenant_id = w.tenant_id)) s
    order by w.n`)

interface Throttle {
  tenant_id: string
  account_id: string
  rate_per_minute: number
  rule_id: string
  rule_name: string
}

/** False when the tenant is throttled already. */
export const insertThrottle = async (tx: Tx, throttle: Throttle): Promise<boolean> =>
  (await tx.run(sql`
    insert into tenant_throttles (tenant_id, account_id, rate_per_minute, rule_id, rule_name)
    values (${throttle.tenant_id}, ${throttle.account_id}, ${throttle.rate_per_minute}, ${throttle.rule_id},
      ${throttle.rule_name})
    on conflict do nothing`)) > 0

/** Throttles of rules that are calm, where another rule still wants one: they become that rule's. */
export const updateThrottleOwners = (tx: Tx): Promise<number> =>
  tx.run(prepared`
    update tenant_throttles t set rule_id = s.rule_id, rule_name = s.rule_name
    from guardian_states s
    where s.tenant_id = t.tenant_id and s.action = 'throttle'
      and not exists (select from guardian_states o
        where o.tenant_id = t.tenant_id and o.action = 'throttle' and o.rule_name = t.rule_name)`)

export const deleteCalmThrottles = (tx: Tx): Promise<Throttle[]> =>
  tx.many<Throttle>(prepared`
    delete from tenant_throttles t
    where not exists (select from guardian_states s where s.tenant_id = t.tenant_id and s.action = 'throttle')
    returning tenant_id, account_id, rate_per_minute, rule_id, rule_name`)
