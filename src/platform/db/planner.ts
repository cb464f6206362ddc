// What a transaction asks of PostgreSQL's planner where it is known to guess wrong.
import type { Tx } from './database.ts'
import { prepared, sql, type Sql } from './sql.ts'

/** Compiling a statement takes longer than these take to run. For databases that we did not set up ourselves. */
export const avoidCompiling = (tx: Tx): void => tx.send(prepared`set local jit = off`)

/**
 * For what follows in this transaction: row by row along the indexes that were made for it, whatever the planner believes.
 * It takes a limit that it does not know for a tenth of all there is, and a table that grows fast for what it was at its last
 * analysis, and then reads it all. One statement: four would take as long as a record of few rows.
 */
export const followIndexes = (tx: Tx): void =>
  tx.send(prepared`
    select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)`)

/**
 * Equal, for rows that a list names, in the first column of the index that finds them. Where indexes are followed, nothing but
 * a lookup by this index can use it; with `=` alone, all of a table in the order of the index is compared with all of the list.
 * That is what the planner prefers of a table that was empty when it was last analysed, which a queue often is.
 */
export const isLookedUpBy = (column: Sql, value: Sql): Sql => sql`${column} = any(array[${value}])`

/**
 * For what follows in this transaction: each statement is planned once for a connection. Of few rows PostgreSQL believes that
 * planning anew, which takes longer than they do, would find something better.
 */
export const planOnce = (tx: Tx): void => tx.send(prepared`set local plan_cache_mode = force_generic_plan`)
