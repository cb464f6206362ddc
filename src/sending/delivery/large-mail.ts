// Mail with a body too large for a claim: it needs memory before it is sent. Few deliveries wait for that with us; the rest
// goes back to the queue with a due time, because what waits here keeps other accounts' mail out.
import { Tally } from '../../platform/fairness/tally.ts'
import { Throttle } from '../../platform/work/throttle.ts'
import type { InFlight } from './in-flight.ts'
import type { MessageToSend } from './queries.ts'
import type { Reservation, Sources } from './sources.ts'

/** Deliveries that wait for memory: enough to use it as soon as it is free, and a third of what may be in flight. */
const WAITING_MAX = 200
/** Of one account; one transaction with more recipients may wait alone. */
const WAITING_PER_ACCOUNT_MAX = 20

export type Attempted<T> = { kind: 'attempted'; result: T } | { kind: 'full'; retryDelayMs: number }

export class LargeMail {
  readonly #sources: Sources
  readonly #inFlight: InFlight
  /** By account, not by destination: how much of its large mail is under way, and at what pace it goes. */
  readonly #accounts = new Throttle()
  readonly #waiting = new Tally()

  constructor(sources: Sources, inFlight: InFlight) {
    this.#sources = sources
    this.#inFlight = inFlight
  }

  /** Makes an attempt for so many recipients of the message, with memory reserved for its body. */
  async attempt<T>(
    message: MessageToSend,
    { recipients, signal }: { recipients: number; signal: AbortSignal },
    send: () => Promise<T>,
  ): Promise<Attempted<T>> {
    const { account_id: account } = message
    this.#accounts.begin(account, recipients)
    try {
      const reservation = this.#sources.tryReserve(message) ?? (await this.#wait(message, recipients, signal))
      if (!reservation) {
        this.#accounts.markSlow(account)
        return { kind: 'full', retryDelayMs: this.#accounts.deferRefusedMs(account, recipients) }
      }
      try {
        return { kind: 'attempted', result: await send() }
      } finally {
        reservation.release()
        this.#accounts.countServed(account, recipients)
      }
    } finally {
      this.#accounts.end(account, recipients)
    }
  }

  /** Null when too many wait already. */
  async #wait(message: MessageToSend, recipients: number, signal: AbortSignal): Promise<Reservation | null> {
    const { account_id: account } = message
    const ofAccount = this.#waiting.of(account)
    if (ofAccount > 0 && ofAccount + recipients > WAITING_PER_ACCOUNT_MAX) return null
    if (this.#waiting.total + recipients > WAITING_MAX) return null
    this.#waiting.add(account, recipients)
    try {
      return await this.#inFlight.idle(recipients, () => this.#sources.reserve(message, signal))
    } finally {
      this.#waiting.add(account, -recipients)
    }
  }
}
