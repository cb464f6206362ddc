// The SQL of retention: what is over, oldest first, in bounded batches.
import type { Db, Tx } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { firstIdAt } from '../../platform/ids.ts'
import { isQueued } from '../queue/queued.ts'

/** Accounts under legal hold are left out: nothing of theirs is deleted. */
export const listUnheldAccountsAnywhere = async (db: Db): Promise<string[]> => {
  const rows = await db.many<{ id: string }>(sql`select id from accounts where not legal_hold order by id`)
  return rows.map(row => row.id)
}

export interface Retention {
  body_retention_days: number
  metadata_retention_days: number
}

/** Null under legal hold. A change of either that has answered holds for what follows; a later one waits for the end. */
export const lockRetention = (tx: Tx, accountId: string): Promise<Retention | null> =>
  tx.maybe<Retention>(sql`
    select body_retention_days, metadata_retention_days from accounts
    where id = ${accountId} and not legal_hold for share`)

interface Old {
  accountId: string
  before: Date
  limit: number
  recipientsMax: number
  bytesMax: number
}

/**
 * Messages whose body is over. One that is still queued keeps what it needs to be sent. The bodies are bounded as well: most
 * old messages have none, and most bodies are not old.
 */
export const listOldBodies = (db: Db, old: Old): Promise<string[]> =>
  listUntilFull(
    db,
    old,
    sql`
    select m.id, m.recipients, m.size from messages m join message_bodies b on b.message_id = m.id
    where m.account_id = ${old.accountId} and m.id < ${firstIdAt(old.before)} and b.message_id < ${firstIdAt(old.before)}
      and not ${isQueued}
    order by m.id limit ${old.limit}`,
  )

/** One with an event that some tail has not read stays: readers look at the message and its deliveries. */
export const listOldMessages = (db: Db, old: Old & { readUpTo: number }): Promise<string[]> =>
  listUntilFull(
    db,
    old,
    sql`
    select m.id, m.recipients, m.size from messages m
    where m.account_id = ${old.accountId} and m.id < ${firstIdAt(old.before)}
      and not ${isQueued}
      and not exists (select from events e where e.message_id = m.id and e.id > ${old.readUpTo})
    order by m.id limit ${old.limit}`,
  )

/** The first of them until they have too many recipients or bytes together, and one in any case. */
async function listUntilFull(db: Db, { recipientsMax, bytesMax }: Old, candidates: Sql): Promise<string[]> {
  const rows = await db.many<{ id: string }>(sql`
    select id from (
      select id, recipients, size, sum(recipients) over sofar as recipients_sum, sum(size) over sofar as bytes_sum
      from (${candidates}) c window sofar as (order by id)
    ) o
    where recipients_sum - recipients < ${recipientsMax} and bytes_sum - size < ${bytesMax}
    order by id`)
  return rows.map(row => row.id)
}

export const deleteBodies = (tx: Tx, ids: readonly string[]): Promise<number> =>
  tx.run(sql`delete from message_bodies where message_id = any(${ids}::uuid[])`)

export const deleteMessages = (tx: Tx, ids: readonly string[]): Promise<number> =>
  tx.run(sql`delete from messages where id = any(${ids}::uuid[])`)

export const deleteIdempotencyKeys = (tx: Tx, before: Date, limit: number): Promise<number> =>
  tx.run(sql`
    delete from idempotency_keys where ctid = any(array(
      select ctid from idempotency_keys where created_at < ${before} order by created_at limit ${limit}))`)
