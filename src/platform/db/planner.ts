// What a transaction asks of PostgreSQL's planner where it is known to guess wrong.
import type { Tx } from './database.ts'
import { prepared, sql, type Sql } from './sql.ts'

/** Compiling a statement takes longer than these take to run. For databases that we did not set up ourselves. */
export const avoidCompiling = (tx: Tx): void => tx.send(prepared`set local jit = off`)

/**
 * How `alongIndexes` is planned. The planner takes a limit that it does not know for a tenth of all there is, and a table that
 * grows fast for what it was at its last analysis, and then reads it all. What it must not do it finds so dear, where it has
 * to, that it would compile the statement each time. One statement: five would take as long as a record of few rows.
 */
export const FOLLOW_INDEXES = prepared`
  select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

/** For what comes after it. */
export const PLAN_FREELY = prepared`
  select set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true),
    set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true)`

/**
 * Equal, for rows that a list names, in the first column of the index that finds them. For statements along indexes. With `=`
 * alone the planner may take all of a table in the order of this index and compare it with all of the list, which is what it
 * prefers where the table was empty when it was last analysed, as a queue often is. Of an index without a condition it thinks
 * only where its order is of use, and beside this condition it is of none: no join by merging knows it.
 */
export const isLookedUpBy = (column: Sql, value: Sql): Sql => sql`${column} = any(array[${value}])`

/**
 * For what follows in this transaction: each statement is planned once for a connection. Of few rows PostgreSQL believes that
 * planning anew, which takes longer than they do, would find something better.
 */
export const planOnce = (tx: Tx): void => tx.send(prepared`set local plan_cache_mode = force_generic_plan`)
