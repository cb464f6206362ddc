// The locks around pauses. The account's lies between pausing its mail and starting to send it: attempts take it shared, a
// pause exclusively.
import type { Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

/** Any number that no other use of two-part advisory keys has. */
const SPACE = 0x5041

export async function lockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<void> {
  await tx.many(prepared`
    select pg_advisory_xact_lock_shared(${SPACE}, hashtext(id)) from unnest(${accountIds}::text[]) as id`)
}

/**
 * As above without waiting: answers which accounts a pause or a resume has locked, or waits to lock. One that waits counts,
 * for PostgreSQL lets nobody overtake it.
 */
export async function tryLockAccountsShared(tx: Tx, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.many<{ id: string; is_locked: boolean }>(prepared`
    select id, pg_try_advisory_xact_lock_shared(${SPACE}, hashtext(id)) as is_locked
    from unnest(${accountIds}::text[]) as id`)
  return new Set(rows.flatMap(({ id, is_locked }) => (is_locked ? [] : id)))
}

/** Once this is granted, every attempt and every acceptance that did not see what we are about to write is over. */
export async function lockAccountExclusively(tx: Tx, accountId: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${SPACE}, hashtext(${accountId}))`)
}

/** Resumes of one account take turns: two that move mail into each other would never end. */
export async function lockResumes(tx: Tx, accountId: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${SPACE + 1}, hashtext(${accountId}))`)
}

/**
 * Who works on what an active pause holds shares this; its resume takes it alone. Not by its row: those who share a row let
 * others join while somebody waits to have it alone, and parking a long queue would keep its resume waiting to the end.
 */
export async function lockPauseShared(tx: Tx, id: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock_shared(${SPACE + 2}, hashtext(${id}))`)
}

export async function lockPauseExclusively(tx: Tx, id: string): Promise<void> {
  await tx.many(prepared`select pg_advisory_xact_lock(${SPACE + 2}, hashtext(${id}))`)
}
