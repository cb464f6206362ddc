// Telling contacts: takes what is due, talks to the outside without a transaction, records what came of it. One at a time
// to each contact and contacts side by side, with a share for each account and for those that fail, so that contacts that
// do not answer delay nobody else.
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { notify, Undeliverable, type Ways } from './channels.ts'
import { countMail, updateMailDay } from './mail-queries.ts'
import {
  claimDueNotification,
  listContactsToTell,
  recordOutcome,
  type ClaimedNotification,
  type ContactToTell,
  type Outcome,
} from './notification-queries.ts'

const by = system('alerts')

/** Longer than a try may take. */
const LEASE_MS = 30_000
const CONTACTS_MAX = 50
/** An account may have 100 contacts, and all of them may hang. */
const CONTACTS_PER_ACCOUNT_MAX = 10
/** Contacts whose last try failed: half, so that any number of them leaves room for those that answer. */
const CONTACTS_FAILING_MAX = 25
/** Before the second try, the third and so on; an alert that nobody took after nine hours is stale. */
const DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000]
const ERROR_LENGTH_MAX = 300

export class Notifier {
  readonly #ways: Ways
  /** How many tries each was, when it is done. */
  readonly #telling = new Map<ContactToTell, Promise<number>>()

  constructor(ways: Ways) {
    this.#ways = ways
  }

  /** Begins with the contacts that have something due, as far as there is room; answers how many those are. */
  async run(world: World, signal: AbortSignal): Promise<number> {
    const free = CONTACTS_MAX - this.#telling.size
    if (free <= 0) return 0
    const telling = [...this.#telling.keys()]
    const contacts = await listContactsToTell(world.db, {
      now: world.clock.now(),
      telling,
      limit: free,
      failingLimit: CONTACTS_FAILING_MAX - telling.filter(each => each.is_failing).length,
      perAccount: CONTACTS_PER_ACCOUNT_MAX,
    })
    for (const contact of contacts) {
      const told = this.#tellAll(world, contact, signal)
        .catch((err: unknown) => {
          // What was claimed comes back when its lease lapses.
          world.log.warn({ err, contact_id: contact.contact_id }, 'an alert contact could not be looked after')
          return 0
        })
        .finally(() => this.#leave(world, contact))
      this.#telling.set(contact, told)
    }
    return contacts.length
  }

  /** Waits for what is under way; answers how many tries that were. */
  async idle(): Promise<number> {
    const told = await Promise.all(this.#telling.values())
    return told.reduce((sum, each) => sum + each, 0)
  }

  /** Until nothing is due, or a try fails: the place of one that hangs is for others before its next try. */
  async #tellAll(world: World, contact: ContactToTell, signal: AbortSignal): Promise<number> {
    for (let told = 0; ; told++) {
      if (signal.aborted) return told
      const leaseToken = newId(world.clock.now())
      const claimed = await world.db.transact(by, tx =>
        claimDueNotification(tx, contact.contact_id, {
          leaseToken,
          leaseUntil: new Date(tx.now.getTime() + LEASE_MS),
        }),
      )
      if (!claimed) return told
      if (!(await this.#tell(world, { ...claimed, leaseToken }, signal))) return told + 1
    }
  }

  /** Whoever waits for its place need not wait for the next poll. */
  #leave(world: World, contact: ContactToTell): void {
    const ofAccount = [...this.#telling.keys()].filter(each => each.account_id === contact.account_id)
    const wasFull = this.#telling.size >= CONTACTS_MAX || ofAccount.length >= CONTACTS_PER_ACCOUNT_MAX
    this.#telling.delete(contact)
    if (wasFull) world.wakeups.nudge('alerts')
  }

  /** Whether it was taken. */
  async #tell(
    world: World,
    notification: ClaimedNotification & { leaseToken: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { id, alert_id, contact_id: contactId, channel, attempts, leaseToken } = notification
    const mayTry =
      channel !== 'email' ||
      (await retryWhileUnavailable(() => this.#countMail(world, notification, leaseToken), signal))
    const outcome = mayTry ? await this.#try(world, notification, signal) : OVER_THE_LIMIT
    // What the contact said is known: while the database is away it is kept, or the contact would be told again.
    await retryWhileUnavailable(
      () => world.db.transact(by, tx => recordOutcome(tx, { id, contactId, leaseToken, outcome })),
      signal,
    )
    if (!('error' in outcome)) return true
    const { error } = outcome
    world.log.warn({ alert_id, contact_id: contactId, channel, attempts, error }, 'an alert contact could not be told')
    // What was not tried says nothing of the contact.
    return outcome.kind === 'skipped'
  }

  async #try(world: World, notification: ClaimedNotification, signal: AbortSignal): Promise<Outcome> {
    try {
      // A mail of ours goes through the database: that it is away is not the contact's fault.
      return { kind: await retryWhileUnavailable(() => notify(world, this.#ways, notification), signal) }
    } catch (failure) {
      const delayMs = failure instanceof Undeliverable ? undefined : DELAYS_MS[notification.attempts - 1]
      const nextAt = delayMs === undefined ? null : new Date(world.clock.now().getTime() + delayMs)
      return { kind: 'failed', error: reasonOf(failure), nextAt }
    }
  }

  /** Whether it fits into what the account may send in a day, over all processes. A second try was counted at the first. */
  async #countMail(world: World, notification: ClaimedNotification, leaseToken: string): Promise<boolean> {
    if (notification.has_mail_day) return true
    const { id, account_id: accountId } = notification
    return world.db.transact(by, async tx => {
      const day = tx.now.toISOString().slice(0, 10)
      if (!(await countMail(tx, { accountId, day, mailsMax: MAILS_PER_DAY_MAX }))) return false
      if (!(await updateMailDay(tx, { id, leaseToken, day }))) throw new Error('the lease of a notification was lost')
      return true
    })
  }
}

/** Alerts of an account are at most this many mails a day: they leave from the operator's own address. */
const MAILS_PER_DAY_MAX = 100
const OVER_THE_LIMIT: Outcome = {
  kind: 'skipped',
  error: `The account's ${MAILS_PER_DAY_MAX} alert mails of this day have been sent. GET /v1/alerts shows all alerts.`,
}

/** Shown to the account: what the outside said, nothing of ours. Half a character would not be stored. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'failed'
  if (failure.name === 'TimeoutError') return 'did not answer in time'
  const { code } = failure as NodeJS.ErrnoException
  return (failure.message || code || failure.name).slice(0, ERROR_LENGTH_MAX).toWellFormed()
}
