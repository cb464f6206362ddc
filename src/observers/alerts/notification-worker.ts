// Telling contacts, as leased work: one at a time to each contact and contacts side by side, with a share for each account
// and for those that fail, so that contacts that do not answer delay nobody else.
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { Leased } from '../../platform/work/leased-work.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import { retryDelayMs } from '../../platform/work/retry-delay.ts'
import type { World } from '../../platform/world.ts'
import { notify, Obsolete, Undeliverable, type Ways } from './channels.ts'
import { APPROVAL_MAILS_PER_DAY_MAX, countMail, MAILS_PER_DAY_MAX, updateMailDay } from './mail-queries.ts'
import {
  claimNotifications,
  notificationLeases,
  recordOutcomes,
  type ClaimedNotification,
  type Outcome,
} from './notification-queries.ts'

const CONTACTS_MAX = 50
/** An account may have 100 contacts, and all of them may hang. */
const CONTACTS_PER_ACCOUNT_MAX = 10
/** Contacts whose last try failed: half, so that any number of them leaves the other half to those that answer. */
const CONTACTS_FAILING_MAX = 25
/** Before the second try, the third and so on; an alert that nobody took after nine hours is stale. */
const RETRY_DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000]
const ERROR_LENGTH_MAX = 300

type Notification = Leased<ClaimedNotification>
export type NotificationWorker = LeasedWorker<ClaimedNotification, Outcome>

export const notificationWorker = (world: World, ways: Ways): NotificationWorker =>
  new LeasedWorker<ClaimedNotification, Outcome>(world, {
    name: 'alert-notifications',
    metric: 'alert_notifications',
    wakeOn: 'alerts',
    pollSeconds: 2,
    leaseMs: 30_000,
    limits: {
      inFlight: { all: CONTACTS_MAX, new: CONTACTS_MAX, slow: CONTACTS_MAX, perAccount: CONTACTS_PER_ACCOUNT_MAX },
      perKey: { first: 1, max: 1, aheadMax: 1, quickMs: 1_000 },
    },
    transactions: 'durable',
    claim: (tx, { inFlight, ...claim }) => {
      const telling = [...inFlight]
      const failingLimit = CONTACTS_FAILING_MAX - telling.filter(each => each.is_failing).length
      return claimNotifications(tx, { ...claim, telling, failingLimit, perAccount: CONTACTS_PER_ACCOUNT_MAX })
    },
    keyOf: ({ contact_id: key, account_id: accountId }) => ({ key, accountId }),
    attempt: (notification, signal) => tell(world, ways, notification, signal),
    outcomeOf: ({ result }) => result.kind,
    record: recordOutcomes,
    // What else is due for a contact that failed waits for the next poll: others go before its next try.
    wakesAfter: outcome => outcome.kind !== 'failed',
    leases: notificationLeases,
  })

async function tell(world: World, ways: Ways, notification: Notification, signal: AbortSignal): Promise<Outcome> {
  const { alert_id, contact_id, channel, attempts } = notification
  const mayTry =
    channel !== 'email' || (await retryWhileUnavailable(() => isWithinMailLimit(world, notification), signal))
  const outcome = mayTry ? await attempt(world, ways, notification, signal) : overTheLimit(notification)
  if ('error' in outcome) {
    const { error } = outcome
    world.log.warn({ alert_id, contact_id, channel, attempts, error }, 'an alert contact could not be told')
  }
  return outcome
}

async function attempt(world: World, ways: Ways, notification: Notification, signal: AbortSignal): Promise<Outcome> {
  try {
    // A mail of ours goes through the database: that it is away is not the contact's fault.
    return { kind: await retryWhileUnavailable(() => notify(world, ways, notification), signal) }
  } catch (failure) {
    if (failure instanceof Obsolete) return { kind: 'skipped', error: failure.message }
    const isFinal = failure instanceof Undeliverable
    const delayMs = isFinal ? null : retryDelayMs(RETRY_DELAYS_MS, notification.attempts)
    const nextAt = delayMs === null ? null : new Date(world.clock.now().getTime() + delayMs)
    return { kind: 'failed', error: reasonOf(failure), nextAt }
  }
}

/** Counts it among what the account may send in a day, over all processes. A second try was counted at the first. */
async function isWithinMailLimit({ db }: World, notification: Notification): Promise<boolean> {
  const { id, account_id: accountId, leaseToken, has_mail_day: isCounted, approval_id: approvalId } = notification
  const mailsMax = approvalId === null ? MAILS_PER_DAY_MAX : APPROVAL_MAILS_PER_DAY_MAX
  if (isCounted) return true
  return db.transact(system('alerts'), async tx => {
    const day = tx.now.toISOString().slice(0, 10)
    if (!(await countMail(tx, { accountId, day, mailsMax }))) return false
    if (!(await updateMailDay(tx, { id, leaseToken, day }))) throw new Error('the lease of a notification was lost')
    return true
  })
}

/** Mails for alerts and for approvals are counted together; those for approvals end sooner. */
const overTheLimit = ({ approval_id: approvalId }: Notification): Outcome => ({
  kind: 'skipped',
  error:
    approvalId === null
      ? `The account's ${MAILS_PER_DAY_MAX} alert mails of this day have been sent. The API lists what they told.`
      : `After ${APPROVAL_MAILS_PER_DAY_MAX} mails of a day the account gets none for approvals. The API lists them.`,
})

/** Shown to the account: what the outside said, nothing of ours. Half a character would not be stored. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'failed'
  if (failure.name === 'TimeoutError') return 'did not answer in time'
  const { code } = failure as NodeJS.ErrnoException
  return (failure.message || code || failure.name).slice(0, ERROR_LENGTH_MAX).toWellFormed()
}
