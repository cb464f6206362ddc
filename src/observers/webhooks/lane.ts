// What this process holds of one webhook, and how much of it may be under way at once. An endpoint that answers soon gets
// more, one that does not answer gets less, so those that hang or dawdle never keep the others from being served.
import type { KeyObject } from 'node:crypto'
import type { PushResult } from '../../platform/net/guarded-http.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { Endpoint } from './queries.ts'
import { signingKeys } from './signature.ts'
import type { ClaimedRow } from './work-queries.ts'

/** An attempt that this process has leased. */
export type Held = ClaimedRow & { leaseToken: string }

/** Per process. Attempts start in the order of their events; this many may overtake one another. */
const UNDER_WAY_MAX = 16
const UNDER_WAY_FIRST = 4
/** A quick endpoint has this many times more waiting here, so that a claim is worth its transaction. */
const AHEAD_MAX = 12
/** An endpoint that takes longer empties its lane so slowly that what waits here only takes the room of others. */
const QUICK_MS = 1_000

/** New: there is no result yet. Quick: its last answer came whole and soon. Slow: it came late, broken or not at all. */
export type Standing = 'new' | 'quick' | 'slow'

/** What a push says of its endpoint. Untried: nothing, because it was not made. */
export type Outcome = 'quick' | 'slow' | 'unanswered' | 'untried'

export function outcomeOf({ responseStatus, isComplete, latencyMs }: PushResult): Outcome {
  if (responseStatus === null) return 'unanswered'
  return isComplete && latencyMs <= QUICK_MS ? 'quick' : 'slow'
}

export class Lane {
  readonly webhookId: string
  readonly accountId: string
  readonly waiting: Held[] = []
  /** And when it began, on the clock of `performance.now`; the oldest first. */
  readonly #underWay = new Map<Held, number>()
  #endpoint: Endpoint | null = null
  #url: URL | null = null
  #keys: KeyObject[] = []
  #limit = UNDER_WAY_FIRST
  /** Grows with each quick answer: one that is quick by turns must not have much claimed and handed back each time. */
  #ahead = 1
  #standing: Standing = 'new'

  constructor({ webhookId, accountId }: { webhookId: string; accountId: string }) {
    this.webhookId = webhookId
    this.accountId = accountId
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

  get standing(): Standing {
    return this.#standing
  }

  get held(): number {
    return this.waiting.length + this.#underWay.size
  }

  get room(): number {
    return Math.max(0, this.#capacity - this.held)
  }

  /** Worth a claim. */
  get isHungry(): boolean {
    return this.held <= this.#capacity / 2
  }

  get mayStart(): boolean {
    return this.waiting.length > 0 && this.#underWay.size < this.#limit
  }

  /** Takes the next one that waits. */
  start(nowMs: number): Held {
    const held = this.waiting.shift()!
    this.#underWay.set(held, nowMs)
    return held
  }

  /** Answers what the lane hands back, because others may hold it until this endpoint is quick again. */
  end(held: Held, outcome: Outcome): Held[] {
    this.#underWay.delete(held)
    switch (outcome) {
      case 'untried':
        return []
      case 'quick':
        this.#standing = 'quick'
        this.#limit = Math.min(UNDER_WAY_MAX, this.#limit * 2)
        this.#ahead = Math.min(AHEAD_MAX, this.#ahead * 2)
        return []
      case 'slow':
        return this.slowDown()
      case 'unanswered':
        this.#limit = Math.max(1, Math.floor(this.#limit / 2))
        return this.slowDown()
    }
  }

  /** A quick one with an answer overdue: by the end of that push much would have waited for nothing. */
  isLate(nowMs: number): boolean {
    if (this.#standing !== 'quick' || this.#underWay.size === 0) return false
    const [oldest] = this.#underWay.values()
    return nowMs - oldest! > QUICK_MS
  }

  /** Hands back what waits beyond its limit. */
  slowDown(): Held[] {
    this.#standing = 'slow'
    this.#ahead = 1
    return this.waiting.splice(Math.max(0, this.#limit - this.#underWay.size))
  }

  get #capacity(): number {
    return this.#limit * this.#ahead
  }
}
