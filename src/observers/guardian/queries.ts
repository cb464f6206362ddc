// All SQL over rules; the only writer of that table.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { withTimesAsText } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { within, type Reach } from '../../platform/principal.ts'
import type { Rule as ApiRule } from './contract.ts'
import type { Override, Rule } from './rule.ts'

export interface StoredRule extends Override {
  created_at: Date
  updated_at: Date
}

const columns = sql`id, account_id, tenant_id, name, metric, scope_type, window_seconds, threshold, min_volume, min_count,
  baseline_multiplier, action, severity, enabled, created_at, updated_at`

export function toApi(rule: Rule | StoredRule): ApiRule {
  if (!('account_id' in rule))
    return { ...rule, tenant_id: null, source: 'default', created_at: null, updated_at: null }
  const { account_id: _, ...shown } = withTimesAsText(rule)
  return { ...shown, source: 'override' }
}

/** What the evaluation begins with: of every account, few compared with what they are about (see save.ts). */
export const listOverridesAnywhere = (db: Db): Promise<Override[]> =>
  db.many<Override>(prepared`
    select id, account_id, tenant_id, name, metric, scope_type, window_seconds, threshold, min_volume, min_count,
      baseline_multiplier, action, severity, enabled
    from rules order by account_id`)

/** Of the account as a whole and of one tenant: at most two hundred (see save.ts). */
export const listRulesOf = (db: Db, accountId: string, tenantId: string | null): Promise<StoredRule[]> =>
  db.many<StoredRule>(sql`
    select ${columns} from rules
    where account_id = ${accountId} and (tenant_id is null or tenant_id = ${tenantId}::uuid)
    order by id desc`)

/** Of all tenants, newest first. */
export const listTenantRules = (db: Db, reach: Reach, page: Keyset<string>): Promise<StoredRule[]> =>
  db.many<StoredRule>(sql`
    select ${columns} from rules ${newestFirst([within(reach), sql`tenant_id is not null`], page)}`)

export const findRuleNamed = (
  db: Db,
  accountId: string,
  { tenantId, name }: { tenantId: string | null; name: string },
): Promise<StoredRule | null> =>
  db.maybe<StoredRule>(sql`
    select ${columns} from rules
    where account_id = ${accountId} and tenant_id is not distinct from ${tenantId}::uuid and name = ${name}`)

/** Of the account with all of its tenants, and of those the ones of this tenant, or of none. */
export const countRules = (db: Db, accountId: string, tenantId: string | null) =>
  db.one<{ total: number; own: number }>(sql`
    select count(*) as total, count(*) filter (where tenant_id is not distinct from ${tenantId}::uuid) as own
    from rules where account_id = ${accountId}`)

export const upsertRule = (tx: Tx, rule: Omit<StoredRule, 'created_at' | 'updated_at'>): Promise<StoredRule> =>
  tx.one<StoredRule>(sql`
    insert into rules (${columns})
    values (${rule.id}, ${rule.account_id}, ${rule.tenant_id}, ${rule.name}, ${rule.metric}, ${rule.scope_type},
      ${rule.window_seconds}, ${rule.threshold}, ${rule.min_volume}, ${rule.min_count}, ${rule.baseline_multiplier},
      ${rule.action}, ${rule.severity}, ${rule.enabled}, ${tx.now}, ${tx.now})
    on conflict on constraint rules_name do update set metric = excluded.metric, scope_type = excluded.scope_type,
      window_seconds = excluded.window_seconds, threshold = excluded.threshold, min_volume = excluded.min_volume,
      min_count = excluded.min_count, baseline_multiplier = excluded.baseline_multiplier, action = excluded.action,
      severity = excluded.severity, enabled = excluded.enabled, updated_at = excluded.updated_at
    returning ${columns}`)

/** Null when there is none within reach. */
export const deleteRuleRow = (tx: Tx, reach: Reach, id: string): Promise<StoredRule | null> =>
  tx.maybe<StoredRule>(sql`delete from rules where id = ${id} and ${within(reach)} returning ${columns}`)

/**
 * The next pass looks at all scopes of these accounts. Two who save the rules of one account at once wait for each other, so
 * that the limit on their number holds.
 */
export const upsertRuleChanges = (tx: Tx, accountIds: ReadonlySet<string>): Promise<number> =>
  tx.run(prepared`
    insert into rule_changes (account_id, changed_at) select id, ${tx.now} from unnest(${[...accountIds]}::uuid[]) as id
    order by id
    on conflict (account_id) do update set changed_at = excluded.changed_at`)
