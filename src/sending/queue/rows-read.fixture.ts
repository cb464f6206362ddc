// How many rows of the queue a transaction has read.
import type { Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

/** So far; what the same connection read before may be in it. */
export const rowsRead = async (tx: Tx): Promise<number> => {
  const { rows } = await tx.one<{ rows: number }>(sql`
    select (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as rows from pg_stat_xact_user_tables where relname = 'queue'`)
  return rows
}
