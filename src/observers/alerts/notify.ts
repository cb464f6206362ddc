// Telling contacts: takes what is due, talks to the outside without a transaction, records what came of it. One at a time
// to each contact and contacts side by side, so that one that does not answer delays nobody else.
import { system } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { notify, type Ways } from './channels.ts'
import {
  claimDueNotification,
  listContactsToTell,
  recordOutcome,
  type ClaimedNotification,
} from './notification-queries.ts'

const by = system('alerts')

/** Longer than a try may take. */
const LEASE_MS = 30_000
const CONTACTS_MAX = 50
/** Before the second try, the third and so on; an alert that nobody took after nine hours is stale. */
const DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000]
const ERROR_LENGTH_MAX = 300

export class Notifier {
  readonly #ways: Ways
  /** By contact: how many it was told when it is done. */
  readonly #telling = new Map<string, Promise<number>>()

  constructor(ways: Ways) {
    this.#ways = ways
  }

  /** Begins with every contact that has something due, and answers how many those are. */
  async run(world: World, signal: AbortSignal): Promise<number> {
    const free = CONTACTS_MAX - this.#telling.size
    if (free <= 0) return 0
    const contactIds = await listContactsToTell(world.db, {
      except: [...this.#telling.keys()],
      now: world.clock.now(),
      limit: free,
    })
    for (const contactId of contactIds) {
      const telling = this.#tellAll(world, contactId, signal)
        .catch((err: unknown) => {
          // What was claimed comes back when its lease lapses.
          world.log.warn({ err, contact_id: contactId }, 'an alert contact could not be looked after')
          return 0
        })
        .finally(() => this.#telling.delete(contactId))
      this.#telling.set(contactId, telling)
    }
    return contactIds.length
  }

  /** Waits for what is under way; answers how many tries that were. */
  async idle(): Promise<number> {
    const told = await Promise.all(this.#telling.values())
    return told.reduce((sum, each) => sum + each, 0)
  }

  async #tellAll(world: World, contactId: string, signal: AbortSignal): Promise<number> {
    for (let told = 0; ; told++) {
      if (signal.aborted) return told
      const leaseToken = newId(world.clock.now())
      const claimed = await world.db.transact(by, tx =>
        claimDueNotification(tx, contactId, { leaseToken, leaseUntil: new Date(tx.now.getTime() + LEASE_MS) }),
      )
      if (!claimed) return told
      await this.#tell(world, claimed, leaseToken)
    }
  }

  async #tell(world: World, notification: ClaimedNotification, leaseToken: string): Promise<void> {
    const error = await notify(world, this.#ways, notification).then(
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
}

/** Shown to the account: what the outside said, nothing of ours. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return 'failed'
  if (failure.name === 'TimeoutError') return 'did not answer in time'
  const { code } = failure as NodeJS.ErrnoException
  return (failure.message || code || failure.name).slice(0, ERROR_LENGTH_MAX)
}
