// The SQL of mail that was set aside: held by no pause, until somebody releases or cancels it, or it expires.
import type { Db, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { isSameRow, keyColumns, queuedColumns, type Key, type QueuedRow } from './keys.ts'
import type { LockedRow } from './held.ts'

export const updateSetAside = (tx: Tx, rows: readonly (Key & { set_aside_id: string })[]): Promise<number> =>
  tx.alongIndexes.run(sql`
    update queue q set set_aside_id = o.set_aside_id
    from json_to_recordset(${JSON.stringify(rows)}::json) as o (${keyColumns}, set_aside_id uuid)
    where ${isSameRow}`)

export interface SetAsideRow extends QueuedRow, LockedRow {
  crashes: number
  held_at: Date
}

export const findTenantOfSetAside = (db: Db, { accountId, id }: { accountId: string; id: string }) =>
  db.maybeValue<string>(sql`
    select tenant_id from queue where account_id = ${accountId} and set_aside_id = ${id}`)

export const lockSetAside = (tx: Tx, { accountId, id }: { accountId: string; id: string }) =>
  tx.maybe<SetAsideRow>(sql`
    select ${queuedColumns}, crashes, held_at, ctid::text as row_id
    from queue q where account_id = ${accountId} and set_aside_id = ${id} for update`)

/** It starts again with a clean sheet, wherever it goes. */
export const forgetSetAside = (tx: Tx, { accountId, id }: { accountId: string; id: string }): Promise<LockedRow> =>
  tx.one<LockedRow>(sql`
    update queue set set_aside_id = null, crashes = 0, is_suspect = false
    where account_id = ${accountId} and set_aside_id = ${id}
    returning tenant_id, message_id, n, recipient, ctid::text as row_id`)

/** Set aside after too many crashes, by no pause, for longer than the account allows. */
export const lockSetAsideOverdue = (tx: Tx, limit: number): Promise<QueuedRow[]> =>
  tx.many<QueuedRow>(sql`
    select ${queuedColumns}
    from queue q join accounts a on a.id = q.account_id
    where q.status = 'held' and q.suspension_id is null
      and q.held_at < ${tx.now}::timestamptz - a.hold_ttl_seconds * interval '1 second'
    limit ${limit} for update of q skip locked`)
