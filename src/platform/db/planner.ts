// What a transaction asks of PostgreSQL's planner where it is known to guess wrong.
import type { Tx } from './database.ts'
import { prepared } from './sql.ts'

/** Compiling a statement takes longer than these take to run. For databases that we did not set up ourselves. */
export const avoidCompiling = (tx: Tx): void => tx.send(prepared`set local jit = off`)

/**
 * For what follows in this transaction: row by row along the indexes that were made for it, whatever the planner believes.
 * It takes a limit that it does not know for a tenth of all there is, and a table that grows fast for what it was at its last
 * analysis, and then reads it all.
 */
export function followIndexes(tx: Tx): void {
  tx.send(prepared`set local enable_hashjoin = off`)
  tx.send(prepared`set local enable_mergejoin = off`)
  tx.send(prepared`set local enable_seqscan = off`)
  tx.send(prepared`set local enable_sort = off`)
}

/**
 * For what follows in this transaction: each statement is planned once for a connection. Of few rows PostgreSQL believes that
 * planning anew, which takes longer than they do, would find something better.
 */
export const planOnce = (tx: Tx): void => tx.send(prepared`set local plan_cache_mode = force_generic_plan`)
