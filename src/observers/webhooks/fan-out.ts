// From the journal to the webhooks: one attempt for each event and each webhook that it matches, made by the database. The
// tail does it at once for accounts with little to do. An account with more is put into the backlog, where it gets slices in
// turn with others like it, so that a million attempts of one account keep nobody else's event waiting.
import { RowLimit } from '../../platform/db/row-limit.ts'
import { sql } from '../../platform/db/sql.ts'
import { Backlogs, shareOut } from '../../platform/work/backlogs.ts'
import type { Due, Tail } from '../../platform/work/worker.ts'
import { findFanOutState, hasListeners, insertAttempts, insertSliceOfAttempts, listWork } from './fan-out-queries.ts'

/** The name of the tail, and so of its cursor. */
export const FAN_OUT = 'webhook-fan-out'

/** Looked through in a round. That costs a few milliseconds; what costs more is the rows that are written. */
const EVENTS_MAX = 5_000
/**
 * Attempts written in one transaction. The most take about a tenth of a second on a busy machine; the fewest are written in
 * time by any database that works at all.
 */
const ROWS = { min: 100, max: 4_000 }
/** Nobody feels it in a push, and at 2,000 events a second it saves most of the rounds. */
const REST_MS = 25
/** Where nobody has a webhook: the first event of the first one may come this much later. */
const IDLE_REST_MS = 250

export const backlogs = new Backlogs(sql`webhook_backlogs`, FAN_OUT)

export function fanOut(): Tail {
  let hasWebhooks = false
  let hasNews = false
  let hasBacklog = false
  const rows = new RowLimit(ROWS)
  return {
    kind: 'tail',
    name: FAN_OUT,
    batchMax: EVENTS_MAX,
    restMs: () => (hasWebhooks ? REST_MS : IDLE_REST_MS),
    read: async (_world, tx, range) => {
      // An installation without webhooks pays for this question and no more.
      const state = await findFanOutState(tx)
      hasWebhooks = state.has_webhooks
      hasNews = hasBacklog = false
      if (!hasWebhooks) return
      if (state.has_backlogs) await backlogs.deleteSettled(tx, range.after)
      // One that has a backlog stays behind it, so that its events keep their order.
      const work = (await listWork(tx, range)).filter(each => !each.is_behind)
      const { direct, behind } = shareOut(new Map(work.map(each => [each.account_id, each.rows])), rows.max)
      if (behind.length > 0) await backlogs.insert(tx, behind, range.after)
      if (direct.length > 0) hasNews = (await rows.learn(() => insertAttempts(tx, range, direct))) > 0
      else rows.recover()
      hasBacklog = behind.length > 0 || state.has_backlogs
    },
    committed: world => {
      if (hasNews) world.wakeups.hint('attempts')
      if (hasBacklog) world.wakeups.hint('backlogs')
    },
  }
}

/** The accounts that fan-out left behind: each has slices of its own events, in turn with the others. */
export const fanOutBacklog = (): Due =>
  backlogs.worker({
    name: 'webhook-backlogs',
    rows: ROWS,
    transactions: 'light',
    take: async (tx, { accountId, after, upTo }, rowsMax) => {
      if (!(await hasListeners(tx, accountId, after))) return { cursor: upTo }
      const { last, is_full: isFull } = await insertSliceOfAttempts(tx, accountId, { after, upTo, rowsMax })
      return { cursor: isFull ? last! : upTo }
    },
    taken: ({ wakeups }) => wakeups.hint('attempts'),
  })
