// Follows the journal: mail in a mailbox says what became of its deliveries, and its streams tell. The tail does it at once
// for accounts with little to look at. An account with more, or with a locked inbox, is put into the backlog, where it gets
// slices in turn with others like it.
import type { Tx } from '../../../platform/db/database.ts'
import { sql } from '../../../platform/db/sql.ts'
import { Backlogs, shareOut } from '../../../platform/work/backlogs.ts'
import type { Tail } from '../../../platform/work/worker.ts'
import { lockUnlessBusy } from '../../inboxes/lock.ts'
import { moveStatuses } from './move-statuses.ts'
import { countRecipients, hasBacklogs, listDeliveryEventsAnywhere, type DeliveryEvent } from './queries.ts'

/** The name of the tail, and so of its cursor. */
export const FOLLOW_DELIVERIES = 'mailbox-deliveries'

export const backlogs = new Backlogs(sql`mailbox_backlogs`, FOLLOW_DELIVERIES)

/**
 * Of all messages that a round moves together: in the worst case it looks at the delivery of each. Five messages with as many
 * as a message can have, and ten times the events of a round.
 */
const RECIPIENTS_MAX = 50_000

/** Most of what is in the journal is about other mail: under load a round for each append would cost more than it does. */
const REST_MS = 100

export function followDeliveries(): Tail {
  let hasBacklog = false
  return {
    kind: 'tail',
    name: FOLLOW_DELIVERIES,
    batchMax: 5_000,
    restMs: () => REST_MS,
    read: async (_world, tx, range) => {
      const [, events, isAnyBehind] = await Promise.all([
        backlogs.deleteSettled(tx, range.after),
        listDeliveryEventsAnywhere(tx, range),
        hasBacklogs(tx),
      ])
      const { direct, behind } = await servedNow(tx, events)
      if (behind.length > 0) await backlogs.insert(tx, behind, range.after)
      await moveStatuses(tx, direct)
      hasBacklog = isAnyBehind || behind.length > 0
    },
    committed: world => {
      if (hasBacklog) world.wakeups.hint('backlogs')
    },
  }
}

/** The accounts with the fewest recipients first, as many as fit, without those that have an inbox which is locked. */
async function servedNow(tx: Tx, events: readonly DeliveryEvent[]) {
  if (events.length === 0) return { direct: [], behind: [] }
  const behind = new Set(shareOut(await recipientsByAccount(tx, events), RECIPIENTS_MAX).behind)
  const fitting = events.filter(({ account_id }) => !behind.has(account_id))
  const busy = await lockUnlessBusy(tx, new Set(fitting.map(({ inbox_id }) => inbox_id)))
  for (const { account_id, inbox_id } of fitting) if (busy.has(inbox_id)) behind.add(account_id)
  return { direct: fitting.filter(({ account_id }) => !behind.has(account_id)), behind: [...behind] }
}

async function recipientsByAccount(tx: Tx, events: readonly DeliveryEvent[]): Promise<ReadonlyMap<string, number>> {
  const accounts = new Map(events.map(({ message_id, account_id }) => [message_id, account_id]))
  const totals = new Map<string, number>()
  for (const { message_id, recipients } of await countRecipients(tx, [...accounts.keys()])) {
    const accountId = accounts.get(message_id)!
    totals.set(accountId, (totals.get(accountId) ?? 0) + recipients)
  }
  return totals
}
