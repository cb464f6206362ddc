// The items of one key (an endpoint, a contact) that this process has leased, and how many of them may be under way at
// once. A key that answers soon gets more, one that does not answer gets less, so those that hang never keep others
// waiting.

export interface KeyLimits {
  /** Under way at once, before anything is known and at the most. So many items may overtake one another. */
  first: number
  max: number
  /** A quick key has up to this many times more waiting here, so that a claim is worth its transaction. */
  aheadMax: number
  /** A key that takes longer empties its queue so slowly that what waits here only keeps others out. */
  quickMs: number
}

/** New: there is no result yet. Quick: the last one came soon. Slow: it came late, broken or not at all. */
export type Standing = 'new' | 'quick' | 'slow'

/** What a try says of its key. Untried: nothing, because it was not made. */
export type Pace = 'quick' | 'slow' | 'unanswered' | 'untried'

export class KeyQueue<Item> {
  readonly key: string
  readonly accountId: string
  readonly waiting: Item[] = []
  readonly #limits: KeyLimits
  /** And when it began, on the clock of `performance.now`; the oldest first. */
  readonly #underWay = new Map<Item, number>()
  #limit: number
  /** Grows with each quick result: one that is quick now and then must not have much claimed and released each time. */
  #ahead = 1
  #standing: Standing = 'new'

  constructor({ key, accountId }: { key: string; accountId: string }, limits: KeyLimits) {
    this.key = key
    this.accountId = accountId
    this.#limits = limits
    this.#limit = limits.first
  }

  get standing(): Standing {
    return this.#standing
  }

  get size(): number {
    return this.waiting.length + this.#underWay.size
  }

  get free(): number {
    return Math.max(0, this.#capacity - this.size)
  }

  /** Worth a claim. */
  get isLow(): boolean {
    return this.size <= this.#capacity / 2
  }

  get mayStart(): boolean {
    return this.waiting.length > 0 && this.#underWay.size < this.#limit
  }

  /** Takes the next one that waits. */
  start(nowMs: number): Item {
    const item = this.waiting.shift()!
    this.#underWay.set(item, nowMs)
    return item
  }

  /** Answers what is to be released, because others may take it until this key is quick again. */
  end(item: Item, pace: Pace): Item[] {
    this.#underWay.delete(item)
    switch (pace) {
      case 'untried':
        return []
      case 'quick':
        this.#standing = 'quick'
        this.#limit = Math.min(this.#limits.max, this.#limit * 2)
        this.#ahead = Math.min(this.#limits.aheadMax, this.#ahead * 2)
        return []
      case 'slow':
        return this.slowDown()
      case 'unanswered':
        this.#limit = Math.max(1, Math.floor(this.#limit / 2))
        return this.slowDown()
    }
  }

  /** A quick one with a result overdue: by the end of that try much would have waited for nothing. */
  isLate(nowMs: number): boolean {
    if (this.#standing !== 'quick' || this.#underWay.size === 0) return false
    const [oldest] = this.#underWay.values()
    return nowMs - oldest! > this.#limits.quickMs
  }

  /** Answers what waits beyond its limit, to be released. */
  slowDown(): Item[] {
    this.#standing = 'slow'
    this.#ahead = 1
    return this.waiting.splice(Math.max(0, this.#limit - this.#underWay.size))
  }

  get #capacity(): number {
    return this.#limit * this.#ahead
  }
}
