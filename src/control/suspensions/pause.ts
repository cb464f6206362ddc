// Pausing a scope, inside the caller's transaction.
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'

export interface NewPause {
  accountId: string
  tenantId: string | null
  scopeType: string
  scopeValue: string
  reason: string | null
  queueAction: 'hold' | 'reject'
  source: 'api' | 'guardian' | 'operator'
  ruleId?: string | null
  evidence?: object | null
}

/**
 * Inside the caller's transaction: takes the account's lock exclusively, writes, records `suspended` and audits.
 * `created` is false when the scope was paused already.
 */
export async function pause(tx: Tx, wanted: NewPause): Promise<{ id: string; created: boolean }> {
  const { accountId, tenantId, scopeType, scopeValue, reason, queueAction, source } = wanted
  await tx.many(sql`select pg_advisory_xact_lock(${0x5041}, hashtext(${accountId}))`)
  const known = await tx.maybe<{ id: string }>(sql`
    select id from suspensions where account_id = ${accountId} and scope_type = ${scopeType}
      and scope_value = ${scopeValue} and status = 'active'`)
  if (known) return { id: known.id, created: false }
  const id = newId(tx.now)
  await tx.run(sql`
    insert into suspensions (id, account_id, tenant_id, scope_type, scope_value, reason, queue_action, source, rule_id,
      evidence, created_by, created_at, held_since)
    values (${id}, ${accountId}, ${tenantId}, ${scopeType}, ${scopeValue}, ${reason}, ${queueAction}, ${source},
      ${wanted.ruleId ?? null}, ${JSON.stringify(wanted.evidence ?? null)}::jsonb, ${tx.by.name}, ${tx.now}, ${tx.now})`)
  const scope = `${scopeType}:${scopeValue}`
  tx.record({
    type: 'suspended',
    accountId,
    tenantId,
    data: { suspension_id: id, scope, queue_action: queueAction, source },
  })
  tx.audit({
    action: 'suspension.create',
    accountId,
    tenantId,
    target: { type: 'suspension', id },
    after: { scope, queue_action: queueAction, source, reason },
  })
  return { id, created: true }
}
