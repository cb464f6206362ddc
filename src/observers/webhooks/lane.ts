// What this process holds of one webhook, and how much of it may be under way at once. An endpoint that answers gets more,
// one that does not gets less, so those that hang never keep the others from being served.
import type { KeyObject } from 'node:crypto'
import type { Secrets } from '../../platform/secrets.ts'
import type { Endpoint } from './queries.ts'
import { signingKeys } from './signature.ts'
import type { ClaimedRow } from './work-queries.ts'

/** An attempt that this process has leased. */
export type Held = ClaimedRow & { leaseToken: string }

/** Per process. Attempts start in the order of their events; this many may overtake one another. */
const UNDER_WAY_MAX = 16
const UNDER_WAY_FIRST = 4
/** An endpoint that answers has this many times more waiting here, so that a claim is worth its transaction. */
const AHEAD = 12

export class Lane {
  readonly webhookId: string
  readonly waiting: Held[] = []
  underWay = 0
  #endpoint: Endpoint | null = null
  #url: URL | null = null
  #keys: KeyObject[] = []
  #limit = UNDER_WAY_FIRST
  #isProven = false

  constructor(webhookId: string) {
    this.webhookId = webhookId
  }

  /** Takes over what may have changed: the secrets are opened again only when they did. */
  update(endpoint: Endpoint, secrets: Secrets, now: Date): void {
    const before = this.#endpoint
    this.#endpoint = endpoint
    const isOldOver = endpoint.old_secret_until !== null && endpoint.old_secret_until <= now
    if (before?.secret === endpoint.secret && this.#keys.length === (endpoint.old_secret && !isOldOver ? 2 : 1)) return
    this.#keys = signingKeys(secrets, endpoint, now)
    this.#url = new URL(endpoint.url)
  }

  get target(): { url: URL; keys: readonly KeyObject[] } {
    return { url: this.#url!, keys: this.#keys }
  }

  get isProven(): boolean {
    return this.#isProven
  }

  get held(): number {
    return this.waiting.length + this.underWay
  }

  get room(): number {
    return Math.max(0, this.#capacity - this.held)
  }

  /** Worth a claim. */
  get isHungry(): boolean {
    return this.held <= this.#capacity / 2
  }

  get mayStart(): boolean {
    return this.waiting.length > 0 && this.underWay < this.#limit
  }

  /** It answered, whatever it said. */
  answered(): void {
    this.#isProven = true
    this.#limit = Math.min(UNDER_WAY_MAX, this.#limit * 2)
  }

  /** It did not. Hands back what others may hold until it answers again. */
  unanswered(): Held[] {
    this.#isProven = false
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
    return this.waiting.splice(this.#limit)
  }

  get #capacity(): number {
    return this.#isProven ? this.#limit * AHEAD : this.#limit
  }
}
