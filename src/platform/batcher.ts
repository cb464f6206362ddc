// Gathers concurrent callers into one piece of work (group commit, group look-up). A batch starts as soon as a slot is free,
// so at low load it has one item and costs no waiting, and under load it grows by itself. There is no timer, but for work that
// asks for larger batches under load.
import { RoundRobin } from './fairness/round-robin.ts'
import { runForNobody } from './owner.ts'

/** While items come in numbers, a batch waits so long for so many of them. */
export interface Gathering {
  items: number
  ms: number
}

export interface BatcherOptions<Item, Result> {
  /** Does the work for all items at once; answers in the same order. A rejection rejects every caller of the batch. */
  run: (items: Item[]) => Promise<Result[]>
  itemsMax: number
  /** How many batches may be under way at once. */
  slots: number
  /** Bounds a batch by more than its number of items, such as bytes. One item alone may be heavier. */
  weightMax?: number
  weightOf?: (item: Item) => number
  /**
   * Whose share of a batch an item takes, broadest first, such as account and tenant. Without it: first come, first
   * served.
   */
  sharedBy?: (item: Item) => readonly string[]
  /**
   * Of many callers a batch takes no more than half. All in one would be answered together, come back together, and wait
   * together again: the database is idle while they are prepared, and we are while it works.
   */
  takesHalf?: boolean
  /** For batches that cost as much as several items, of callers who are in no hurry. */
  gathers?: Gathering | undefined
}

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** So few are not worth two batches. */
const HALF_MIN = 32
/** How much of the largest number of callers is still believed in at the next batch. */
const MEMORY = 0.9
/** A batch of so many says that callers come faster than one by one. */
const BUSY_ITEMS = 8
/** Between two such batches there is a gap; it does not mean that the callers have gone. */
const BUSY_MS = 100

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #waiting = new RoundRobin<Waiting<Item, Result>>()
  #running = 0
  #scheduled = false
  #gathering: NodeJS.Timeout | null = null
  #busyUntil = 0
  #callers = 0
  #callersLately = 0

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  submit(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject }, this.#options.sharedBy?.(item) ?? [])
      this.#callers += 1
      this.#schedule()
    })
  }

  /** Whether callers come faster than one by one: a batch of the last moment had many of them. */
  get isBusy(): boolean {
    return performance.now() < this.#busyUntil
  }

  /** After the sockets that are readable now have been read, so that requests arriving together share a batch. */
  #schedule(): void {
    if (this.#gathering && this.#waiting.length >= this.#options.gathers!.items) return this.#endGathering()
    if (this.#scheduled || this.#running >= this.#options.slots || this.#waiting.length === 0) return
    const { gathers } = this.#options
    if (gathers && this.isBusy && this.#waiting.length < gathers.items) {
      this.#gathering = runForNobody(() => setTimeout(() => this.#endGathering(), gathers.ms))
      this.#scheduled = true
      return
    }
    this.#startSoon()
  }

  #endGathering(): void {
    clearTimeout(this.#gathering!)
    this.#gathering = null
    this.#startSoon()
  }

  #startSoon(): void {
    this.#scheduled = true
    // A batch serves several callers and belongs to none of them.
    runForNobody(() =>
      setImmediate(() => {
        this.#scheduled = false
        this.#start()
      }),
    )
  }

  #start(): void {
    const batch = this.#take()
    if (batch.length === 0) return
    this.#running += 1
    if (batch.length >= BUSY_ITEMS) this.#busyUntil = performance.now() + BUSY_MS
    this.#options
      .run(batch.map(waiting => waiting.item))
      .then(
        results => batch.forEach((waiting, index) => waiting.resolve(results[index]!)),
        error => batch.forEach(waiting => waiting.reject(error)),
      )
      .finally(() => {
        this.#running -= 1
        this.#callers -= batch.length
        this.#schedule()
      })
    this.#schedule()
  }

  #itemsMax(): number {
    const { itemsMax, takesHalf } = this.#options
    if (!takesHalf) return itemsMax
    this.#callersLately = Math.max(this.#callers, this.#callersLately * MEMORY)
    return Math.min(itemsMax, Math.max(HALF_MIN, Math.ceil(this.#callersLately / 2)))
  }

  #take(): Waiting<Item, Result>[] {
    const { weightMax = Infinity, weightOf = () => 0 } = this.#options
    const itemsMax = this.#itemsMax()
    const batch: Waiting<Item, Result>[] = []
    let weight = 0
    const fits = ({ item }: Waiting<Item, Result>): boolean => {
      weight += weightOf(item)
      return batch.length === 0 || weight <= weightMax
    }
    while (batch.length < itemsMax) {
      const next = this.#waiting.take(fits)
      if (!next) break
      batch.push(next)
    }
    return batch
  }
}

/** Concurrent look-ups by one key each share a statement; null where there is no such row. */
export const lookUpBatcher = <Row extends object>(
  list: (keys: string[]) => Promise<Row[]>,
  keyOf: (row: Row) => string,
): Batcher<string, Row | null> =>
  new Batcher({
    itemsMax: 500,
    slots: 2,
    run: async keys => {
      const rows = await list([...new Set(keys)])
      const byKey = new Map(rows.map(row => [keyOf(row), row]))
      return keys.map(key => byKey.get(key) ?? null)
    },
  })
