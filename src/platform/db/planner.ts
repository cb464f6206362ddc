// What a transaction asks of PostgreSQL's planner where it is known to guess wrong.
import type { Tx } from './database.ts'
import { prepared, sql, type Sql } from './sql.ts'

/** Compiling a statement takes longer than these take to run. For databases that we did not set up ourselves. */
export const avoidCompiling = (tx: Tx): void => tx.send(prepared`set local jit = off`)

/**
 * How statements of `alongIndexes` are planned. The planner takes a limit that it does not know for a tenth of all there is,
 * and a table that grows fast for what it was at its last analysis, and then reads it all. Before PostgreSQL 18 a sort that
 * cannot be avoided costs 1e10 then, which is above `jit_above_cost`. One statement: five would take as long as a record of
 * few rows.
 */
export const PLAN_ALONG_INDEXES = prepared`
  select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`

/** As the session plans by default; without `jit`, which somebody may want off for longer. */
export const PLAN_FREELY = prepared`
  select set_config('enable_hashjoin', null, true), set_config('enable_mergejoin', null, true),
    set_config('enable_seqscan', null, true), set_config('enable_sort', null, true)`

/**
 * Equal, for rows that a list names, in the first column of the index that finds them. For statements along indexes. With `=`
 * alone the planner may scan all of this index and compare each row with all of the list, which is what it prefers where the
 * table was empty when it was last analysed, as a queue often is. It considers a scan of a whole index where the order may
 * serve a merge join, which no `any` can be; and, also beside this condition, for an index-only scan and for a partial index
 * whose predicate the statement implies. A statement that leaves it one of those asks by a lateral subquery with an offset.
 */
export const isLookedUpBy = (column: Sql, value: Sql): Sql => sql`${column} = any(array[${value}])`

/**
 * For what follows in this transaction: each statement is planned once for a connection. Of few rows PostgreSQL believes that
 * planning anew, which takes longer than they do, would find something better.
 */
export const planOnce = (tx: Tx): void => tx.send(prepared`set local plan_cache_mode = force_generic_plan`)
