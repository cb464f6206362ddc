// The account's lock, the only one around pauses. Work that a pause could stop shares it: an acceptance,
// an attempt, a return to the queue, a batch over held mail. Making or resuming a pause takes it alone.
import type { Tx } from '../../platform/db/database.ts'
import { PAUSE_LOCKS } from '../../platform/db/locks.ts'
import { prepared } from '../../platform/db/sql.ts'

export async function lockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<void> {
  await tx.many(prepared`
    select pg_advisory_xact_lock_shared(${PAUSE_LOCKS}, hashtext(id)) from unnest(${accountIds}::text[]) as id`)
}

/**
 * Shares the locks without waiting, and answers the contended accounts, whose lock it did not get: a pause or a resume
 * has it, or waits for it. One that waits counts, for PostgreSQL lets nobody overtake it.
 */
export async function tryLockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.many<{ id: string; is_locked: boolean }>(prepared`
    select id, pg_try_advisory_xact_lock_shared(${PAUSE_LOCKS}, hashtext(id)) as is_locked
    from unnest(${accountIds}::text[]) as id`)
  return new Set(rows.flatMap(({ id, is_locked }) => (is_locked ? [] : id)))
}

/** Once this is granted, everything that did not see what we are about to write is over. */
export async function lockAccountExclusively(tx: Tx, accountId: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${PAUSE_LOCKS}, hashtext(${accountId}))`)
}
