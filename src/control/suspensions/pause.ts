// Pausing a scope. Inside the caller's transaction, under the account's lock: when it has committed, no process
// starts an attempt that the pause matches, and no acceptance answers that such mail is queued.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import { lockAccountExclusively } from './locks.ts'
import type { Suspension } from './contract.ts'
import { refuse } from '../../platform/refusal.ts'
import { countActive, findActive, insertSuspension, type NewSuspension } from './queries.ts'

/** Each is looked at whenever mail of the account is accepted or attempted. */
const ACTIVE_MAX = 1_000

type NewPause = Omit<NewSuspension, 'id' | 'createdBy' | 'onlyTenant' | 'ruleId' | 'evidence'> &
  Partial<Pick<NewSuspension, 'onlyTenant' | 'ruleId' | 'evidence'>>

/** `created` is false when the scope was paused already; nothing is changed then. */
export async function pause(tx: Tx, wanted: NewPause): Promise<Suspension & { created: boolean }> {
  await lockAccountExclusively(tx, wanted.accountId)
  const known = await findActive(tx, wanted, wanted.source === 'operator')
  if (known) return { ...known, created: false }
  // What the operator and the guardian stop is stopped, however many pauses a customer has made.
  if (wanted.source === 'api' && (await countActive(tx, wanted.accountId)) >= ACTIVE_MAX) {
    throw refuse('conflict', `An account has at most ${ACTIVE_MAX} active pauses. Resume one first.`)
  }
  const suspension = await insertSuspension(tx, {
    ...wanted,
    id: newId(tx.now),
    onlyTenant: wanted.onlyTenant ?? false,
    ruleId: wanted.ruleId ?? null,
    evidence: wanted.evidence ?? null,
    createdBy: nameOf(tx.by),
  })
  const { accountId, tenantId, source } = wanted
  const { id, queue_action, reason } = suspension
  const scope = shownScope(suspension)
  tx.record({
    type: 'suspended',
    accountId,
    tenantId,
    data: { suspension_id: id, ...scope, queue_action, reason, source },
  })
  tx.audit({
    action: tx.by.action ?? 'suspension.create',
    accountId,
    tenantId,
    target: { type: 'suspension', id },
    after: { ...scope, queue_action, reason, source },
  })
  return { ...suspension, created: true }
}

/** As events and audit entries show it. */
export const shownScope = ({ scope, only_tenant }: Suspension): { scope: string; only_tenant?: true } =>
  only_tenant ? { scope, only_tenant } : { scope }

/** As `created_by` and `resumed_by` show it. */
export const nameOf = ({ type, id, name }: Actor): string => (type === 'api_key' ? `api_key:${id}` : name)
