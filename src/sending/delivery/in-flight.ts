// What this process has leased of the queue, how much of it costs us anything right now, and how much more may be claimed.
// Mail that waits for a slow destination counts there, not against others.
import { availableParallelism } from 'node:os'
import type { LoadShedder } from '../../platform/work/load-shedder.ts'
import { Nap } from '../../platform/work/nap.ts'
import { SlowShare } from '../../platform/work/slow-share.ts'
import { Throttle } from '../../platform/work/throttle.ts'
import { destinationOf, type Claimed } from '../queue/attempts.ts'
import type { Key } from '../queue/keys.ts'
import type { AttemptLease } from '../queue/leases.ts'

/** Enough to keep the connections busy; what was claimed goes before a newcomer of another tenant, so not more. */
const IN_FLIGHT_MAX = 600
/** With what waits for slow destinations: bounds the memory. */
const LEASED_MAX = 2_000
const CLAIM_MAX = 300
/**
 * Being prepared or recorded while others wait for what this process does as well, and how often more is claimed then: mail
 * goes on being delivered, but what they wait for goes first. Few at a time and all the time would cost three times as much
 * a mail.
 */
const ACTIVE_MAX_WHILE_BUSY = 16 * Math.max(1, availableParallelism() - 1)
const CLAIM_EVERY_MS_WHILE_BUSY = 100
const LOOK_AGAIN_MS = 500
export class InFlight {
  readonly destinations = new Throttle()
  /** Null once the mail is on its way back to the queue: that lease must not be taken again. */
  readonly #leases = new Map<string, AttemptLease | null>()
  /** Of conversations: a slow one keeps a connection for half an hour. */
  readonly #slow = new SlowShare()
  /** Deliveries that are talked about. */
  #talking = 0
  readonly #load: LoadShedder
  #idle = 0
  readonly #nap = new Nap()
  #claimedAt = 0

  constructor(load: LoadShedder) {
    this.#load = load
  }

  get size(): number {
    return this.#leases.size
  }

  get leases(): AttemptLease[] {
    return [...this.#leases.values()].filter(lease => lease !== null)
  }

  begin(claimed: readonly Claimed[], leaseToken: string): void {
    for (const delivery of claimed) {
      this.#leases.set(keyOf(delivery, leaseToken), leaseOf(delivery, leaseToken))
      this.destinations.begin(destinationOf(delivery), 1)
    }
  }

  end(deliveries: readonly Claimed[], leaseToken: string): void {
    for (const delivery of deliveries) {
      if (!this.#leases.delete(keyOf(delivery, leaseToken))) continue
      this.destinations.end(destinationOf(delivery), 1)
    }
    this.#nap.end()
  }

  /** It is still in flight until its return to the queue is on record, but its lease is no longer ours to keep. */
  release(deliveries: readonly Claimed[], leaseToken: string): void {
    for (const delivery of deliveries) {
      const key = keyOf(delivery, leaseToken)
      if (this.#leases.has(key)) this.#leases.set(key, null)
    }
  }

  /** While a receiver is talked to, or waited for, the mail costs nothing here. */
  async talk<T>(deliveries: readonly Claimed[], talk: () => Promise<T>): Promise<T> {
    this.#talking += deliveries.length
    this.#nap.end()
    try {
      return await this.#slow.run(aboutOf(deliveries), talk)
    } finally {
      this.#talking -= deliveries.length
    }
  }

  /** How long these have to wait for their destination, or for others of their account; null when they may go. */
  deferMs(deliveries: readonly Claimed[]): number | null {
    const about = aboutOf(deliveries)
    return this.destinations.deferMs(about.key, deliveries.length) ?? this.#slow.deferMs(about, deliveries.length)
  }

  /** While it waits for memory the mail costs no work: others are claimed although this process must yield. */
  async idle<T>(count: number, wait: () => Promise<T>): Promise<T> {
    this.#idle += count
    this.#nap.end()
    try {
      return await wait()
    } finally {
      this.#idle -= count
    }
  }

  /** Waits until more may be claimed, and answers how much; 0 when the signal says so. */
  async claimLimit(signal: AbortSignal): Promise<number> {
    for (;;) {
      if (signal.aborted) return 0
      this.#markSlow()
      const limit = Math.min(this.#load.isBusy ? this.#claimableWhileBusy() : this.#claimable(), LEASED_MAX - this.size)
      if (limit > 0) {
        this.#claimedAt = performance.now()
        return Math.min(CLAIM_MAX, limit)
      }
      // Until something ends, or it is time to look whether something will not.
      await this.#nap.begin(this.#load.isBusy ? CLAIM_EVERY_MS_WHILE_BUSY : LOOK_AGAIN_MS)
    }
  }

  /** None until half of it is free: claims are made in batches. */
  #claimable(): number {
    const free = IN_FLIGHT_MAX - (this.size - this.destinations.size)
    return free >= IN_FLIGHT_MAX / 2 ? free : 0
  }

  #claimableWhileBusy(): number {
    if (performance.now() - this.#claimedAt < CLAIM_EVERY_MS_WHILE_BUSY) return 0
    const free = ACTIVE_MAX_WHILE_BUSY - (this.size - this.#talking - this.#idle)
    return free >= ACTIVE_MAX_WHILE_BUSY / 2 ? free : 0
  }

  #markSlow(): void {
    for (const destination of this.#slow.slowKeys()) this.destinations.markSlow(destination)
  }
}

/** Deliveries of one conversation go to one destination. */
const aboutOf = ([first]: readonly Claimed[]) => ({ accountId: first!.account_id, key: destinationOf(first!) })

export const leaseOf = (
  { account_id, tenant_id, message_id, n, attempts }: Claimed,
  leaseToken: string,
): AttemptLease => ({
  account_id,
  tenant_id,
  message_id,
  n,
  attempts,
  lease_token: leaseToken,
})

/** With the lease: what has lapsed and was claimed again by this process is here twice, until both have ended. */
const keyOf = ({ message_id, n }: Pick<Key, 'message_id' | 'n'>, leaseToken: string): string =>
  `${message_id} ${n} ${leaseToken}`
