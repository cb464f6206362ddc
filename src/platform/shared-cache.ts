// A bounded cache in front of a slow question. Those who ask the same while it is being answered share the answer.
import type { Clock } from './clock.ts'

export interface Loaded<T> {
  value: T
  ttlMs: number
}

interface Entry<T> {
  value: T | Promise<T>
  /** Infinity while it is being loaded. */
  until: number
}

export interface SharedCacheOptions<T> {
  clock: Clock
  entriesMax: number
  load: (key: string) => Promise<Loaded<T>>
}

export class SharedCache<T> {
  readonly #options: SharedCacheOptions<T>
  readonly #entries = new Map<string, Entry<T>>()

  constructor(options: SharedCacheOptions<T>) {
    this.#options = options
  }

  /** The value itself when it is known, so that a hot path waits for nothing. */
  get(key: string): T | Promise<T> {
    const entry = this.#entries.get(key)
    if (entry && entry.until > this.#now()) return entry.value
    if (this.#entries.size >= this.#options.entriesMax) this.#dropOldest()
    const loading: Entry<T> = { value: this.#load(key), until: Infinity }
    // Taken out first, because a map keeps the place of a key that is set again, and the front is what is dropped.
    this.#entries.delete(key)
    this.#entries.set(key, loading)
    return loading.value
  }

  async #load(key: string): Promise<T> {
    try {
      const { value, ttlMs } = await this.#options.load(key)
      this.#entries.set(key, { value, until: this.#now() + ttlMs })
      return value
    } catch (error) {
      this.#entries.delete(key)
      throw error
    }
  }

  #dropOldest(): void {
    const { value: oldest } = this.#entries.keys().next()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}
