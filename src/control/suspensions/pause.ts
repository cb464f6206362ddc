// Pausing a scope. Inside the caller's transaction, under the account's lock: when it has committed, no process
// starts an attempt that the pause matches, and no acceptance answers that such mail is queued.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { lockAccountExclusively } from './locks.ts'
import type { ScopeType, Suspension } from './contract.ts'
import { findActive, insertSuspension } from './queries.ts'

export interface NewPause {
  accountId: string
  tenantId: string | null
  scopeType: ScopeType
  scopeValue: string
  reason: string | null
  queueAction: 'hold' | 'reject'
  source: 'api' | 'guardian' | 'operator'
  ruleId?: string | null
  evidence?: object | null
}

/** `created` is false when the scope was paused already; nothing is changed then. */
export async function pause(tx: Tx, wanted: NewPause): Promise<Suspension & { created: boolean }> {
  await lockAccountExclusively(tx, wanted.accountId)
  const known = await findActive(tx, wanted, wanted.source === 'operator')
  if (known) return { ...known, created: false }
  const suspension = await insertSuspension(tx, {
    ...wanted,
    id: newId(tx.now),
    ruleId: wanted.ruleId ?? null,
    evidence: wanted.evidence ?? null,
    createdBy: nameOf(tx.by),
  })
  const { accountId, tenantId, source } = wanted
  const { id, scope, queue_action, reason } = suspension
  tx.record({
    type: 'suspended',
    accountId,
    tenantId,
    data: { suspension_id: id, scope, queue_action, reason, source },
  })
  tx.audit({
    action: tx.by.action ?? 'suspension.create',
    accountId,
    tenantId,
    target: { type: 'suspension', id },
    after: { scope, queue_action, reason, source },
  })
  return { ...suspension, created: true }
}

/** As `created_by` and `resumed_by` show it. */
export const nameOf = ({ type, id, name }: Actor): string => (type === 'api_key' ? `api_key:${id}` : name)
