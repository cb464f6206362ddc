// Telling contacts: takes what is due, talks to the outside without a transaction, records what came of it. A contact that
// does not answer delays nobody else.
import { system } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { notify, type SendMail } from './channels.ts'
import { claimDueNotifications, recordOutcome, type ClaimedNotification } from './notification-queries.ts'

const by = system('alerts')

/** Longer than a try may take. */
const LEASE_MS = 30_000
const BATCH_MAX = 20
/** Before the second try, the third and so on; an alert that nobody took after nine hours is stale. */
const DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000]
const ERROR_LENGTH_MAX = 300

/** Answers how many were tried. */
export async function notifyDue(world: World, sendMail: SendMail): Promise<number> {
  const leaseToken = newId(world.clock.now())
  const claimed = await world.db.transact(by, tx =>
    claimDueNotifications(tx, {
      leaseToken,
      leaseUntil: new Date(tx.now.getTime() + LEASE_MS),
      limit: BATCH_MAX,
    }),
  )
  await Promise.all(claimed.map(notification => tell(world, sendMail, notification, leaseToken)))
  return claimed.length
}

async function tell(
  world: World,
  sendMail: SendMail,
  notification: ClaimedNotification,
  leaseToken: string,
): Promise<void> {
  const error = await notify(world, sendMail, notification).then(
    () => null,
    (failure: unknown) => reasonOf(failure),
  )
  const delayMs = DELAYS_MS[notification.attempts - 1]
  await world.db.transact(by, tx =>
    recordOutcome(tx, {
      id: notification.id,
      contactId: notification.contact_id,
      leaseToken,
      error,
      nextAt: error !== null && delayMs !== undefined ? new Date(tx.now.getTime() + delayMs) : null,
    }),
  )
  if (error === null) return
  const { alert_id, contact_id, channel, attempts } = notification
  world.log.warn({ alert_id, contact_id, channel, attempts, error }, 'an alert contact could not be told')
}

/** Shown to the account: what the outside said, nothing of ours. */
function reasonOf(failure: unknown): string {
  const { name, message } = failure instanceof Error ? failure : { name: '', message: String(failure) }
  return (name === 'TimeoutError' ? 'did not answer in time' : message).slice(0, ERROR_LENGTH_MAX)
}
