// SQL of scheduled drafts as leased work: claimed when they are due, and recorded where they were not sent.
import type { Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { LeasedTable, leasing } from '../../platform/work/leased-table.ts'
import { isAsked, type Claim } from '../../platform/work/leased-work.ts'
import { sentBytes, type StoredDraft } from './queries.ts'

export const draftLeases = new LeasedTable(sql`drafts`, 'id')

interface Unsent {
  id: string
  leaseToken: string
  /** It waits for something to pass, which is no try that failed. */
  hasWaited: boolean
  /** Null: it is a plain draft from now on. */
  scheduledAt: Date | null
  dueAt: Date | null
  error: string | null
}

/** Not sent: due again, or never, where the lease is still ours. */
export const updateUnsentDrafts = (tx: Tx, unsent: readonly Unsent[]): Promise<{ id: string }[]> =>
  tx.alongIndexes.many<{ id: string }>(prepared`
    update drafts d set lease_token = null, scheduled_at = o.scheduled_at, due_at = o.due_at, last_error = o.error,
      updated_at = ${tx.now}, attempts = case when o.has_waited then d.attempts - 1 else d.attempts end
    from unnest(${unsent.map(each => each.id)}::uuid[], ${unsent.map(each => each.leaseToken)}::uuid[],
      ${unsent.map(each => each.scheduledAt)}::timestamptz[], ${unsent.map(each => each.dueAt)}::timestamptz[],
      ${unsent.map(each => each.error)}::text[], ${unsent.map(each => each.hasWaited)}::boolean[])
      as o (id, lease_token, scheduled_at, due_at, error, has_waited)
    where ${isLookedUpBy(sql`d.id`, sql`o.id`)} and d.lease_token = o.lease_token returning d.id`)

export interface DueDraft extends Pick<
  StoredDraft,
  'id' | 'account_id' | 'tenant_id' | 'inbox_id' | 'attempts' | 'requested_by' | 'scheduled_at'
> {
  was_due_at: Date
  /** Of the mail that it becomes. */
  bytes: number
}

/** Due ones, the longest due first, leased to this worker. The key is the inbox. */
export const claimDueDrafts = (tx: Tx, { limit, asked, ...lease }: Claim<DueDraft>): Promise<DueDraft[]> =>
  tx.alongIndexes.many<DueDraft>(prepared`
    with due as (
      select id, due_at from drafts
      where due_at <= ${tx.now} and ${isAsked(asked, { key: sql`inbox_id`, account: sql`account_id` })}
      order by due_at limit ${limit} for update skip locked
    )
    update drafts d set ${leasing(lease)} from due where ${isLookedUpBy(sql`d.id`, sql`due.id`)}
    returning d.id, d.account_id, d.tenant_id, d.inbox_id, d.attempts, d.requested_by, d.scheduled_at,
      due.due_at as was_due_at, ${sentBytes} as bytes`)
