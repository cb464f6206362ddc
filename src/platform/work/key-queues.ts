// The queues of a worker by their keys: those that have something under way, and of the idle ones the latest, for what they
// have taught.
import { KeyQueue, type KeyLimits } from './key-queue.ts'
import type { KeyOf } from './leased-work.ts'

/** Each claim looks at all of them: so many take a millisecond or two. One that is forgotten has no standing any more. */
const IDLE_MAX = 10_000

export class KeyQueues<Item> {
  readonly #limits: KeyLimits
  readonly #active = new Map<string, KeyQueue<Item>>()
  /** The longest idle first. */
  readonly #idle = new Map<string, KeyQueue<Item>>()

  constructor(limits: KeyLimits) {
    this.#limits = limits
  }

  get active(): KeyQueue<Item>[] {
    return [...this.#active.values()]
  }

  get all(): KeyQueue<Item>[] {
    return [...this.#active.values(), ...this.#idle.values()]
  }

  /** One that is not known is kept once something is put into it. */
  of(key: KeyOf): KeyQueue<Item> {
    return this.#active.get(key.key) ?? this.#idle.get(key.key) ?? new KeyQueue<Item>(key, this.#limits)
  }

  put(queue: KeyQueue<Item>, item: Item): void {
    this.#idle.delete(queue.key)
    this.#active.set(queue.key, queue)
    queue.waiting.push(item)
  }

  /** It may be idle since an item of it ended. One that was forgotten meanwhile is not kept in the place of a newer one. */
  noteEnd(queue: KeyQueue<Item>): void {
    if (queue.size > 0 || this.#active.get(queue.key) !== queue) return
    this.#active.delete(queue.key)
    this.#idle.set(queue.key, queue)
    const [longestIdle] = this.#idle.keys()
    if (this.#idle.size > IDLE_MAX) this.#idle.delete(longestIdle!)
  }
}
