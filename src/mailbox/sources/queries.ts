// The SQL that reads sources of mail that was sent, and removes sources.
import { lockedUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, base64Part, isAmong, prepared, sql, type Sql } from '../../platform/db/sql.ts'

export const listSources = (db: Db, ids: readonly string[]): Promise<{ id: string; source: Buffer }[]> =>
  db.many(prepared`select id, content as source from mail_sources where ${isAmong(sql`id`, ids)}`)

/** In base64, as delivery reads large bodies. */
export async function findSourcePart(
  db: Db,
  id: string,
  part: { start: number; bytes: number },
): Promise<string | null> {
  const row = await db.maybe<{ part: string }>(prepared`
    select ${base64Part(sql`content`, part)} as part from mail_sources where id = ${id}`)
  return row && row.part
}

/**
 * A row that is there already may be under the eyes of the worker, which does not see that the caller removes the last
 * message: the update waits for the worker to end, and leaves a row that is looked at once more.
 */
export async function insertSourceRemovals(
  tx: Tx,
  { accountId, sourceIds }: { accountId: string; sourceIds: readonly string[] },
): Promise<void> {
  if (sourceIds.length === 0) return
  await tx.run(prepared`
    insert into source_removals (source_id, account_id, due_at)
    select distinct id, ${accountId}::uuid, ${tx.now}::timestamptz from unnest(${bareArray(sourceIds)}::uuid[]) as id
    order by id
    on conflict (source_id, account_id) do update set due_at = excluded.due_at`)
}

interface DueRemoval {
  source_id: string
  account_id: string
}

/** Locks what no other process is taking. Texts of tainted mail are hashed before they go. */
export const claimDueRemovals = (tx: Tx, limit: number): Promise<DueRemoval[]> =>
  tx.many<DueRemoval>(sql`
    select source_id, account_id from source_removals
    where due_at <= ${tx.now}
      and not exists (select from removed_taints t where t.source_id = source_removals.source_id)
    order by due_at limit ${limit} for update skip locked`)

/** Accounts of these that are not under legal hold. One that is put under it meanwhile waits for the end of the batch. */
export async function lockAccountsNotOnHold(tx: Tx, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.many<{ id: string }>(lockedUnlessOnHold(sql`select unnest(${accountIds}::uuid[])`))
  return new Set(rows.map(({ id }) => id))
}

export async function updateRemovalsDue(tx: Tx, removals: readonly DueRemoval[], dueAt: Date): Promise<void> {
  await tx.run(sql`update source_removals r set due_at = ${dueAt} from ${rows(removals)} where ${isSame}`)
}

/**
 * Sources that nobody names any more, with their texts and attachments. A mail on its way names its source by the arrival
 * until the transaction that files it commits, and by the message from then on; so one of the two is always seen here. A
 * source that another account under legal hold asked to be removed stays.
 */
export async function deleteUnnamedSources(tx: Tx, removals: readonly DueRemoval[]): Promise<void> {
  const ids = removals.map(each => each.source_id)
  const gone = await tx.many<{ id: string }>(sql`
    delete from mail_sources s
    where s.id = any(${ids}::uuid[])
      and not exists (select from inbox_messages m where m.source_id = s.id)
      and not exists (select from arrivals a where a.source_id = s.id)
      and not exists (
        select from source_removals r join accounts a on a.id = r.account_id
        where r.source_id = s.id and a.legal_hold)
    returning s.id`)
  // A statement of its own sees texts that somebody stored while the first one waited for the lock of their source.
  await tx.run(sql`delete from source_texts where source_id = any(${gone.map(({ id }) => id)}::uuid[])`)
}

/** Locked until the commit. False: it was removed. */
export const lockSource = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.maybe(prepared`select from mail_sources where id = ${id} for key share`)) !== null

export async function deleteRemovals(tx: Tx, removals: readonly DueRemoval[]): Promise<void> {
  await tx.run(sql`delete from source_removals r using ${rows(removals)} where ${isSame}`)
}

const rows = (removals: readonly DueRemoval[]): Sql =>
  sql`unnest(${removals.map(each => each.source_id)}::uuid[], ${removals.map(each => each.account_id)}::uuid[])
    as claimed (source_id, account_id)`

const isSame = sql`(r.source_id, r.account_id) = (claimed.source_id, claimed.account_id)`
