// Whether this process can read the pause state. The gate in the database decides about each attempt; a process that has
// never been able to read the pauses is not ready.
import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../../platform/world.ts'
import { areSuspensionsReadable } from './queries.ts'

const REFRESH_MS = 5_000

export class PauseBoard {
  readonly #world: World
  readonly #stopping = new AbortController()
  #isLoaded = false
  #refreshing: Promise<void> | null = null

  constructor(world: World) {
    this.#world = world
  }

  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Reads now, and again every few seconds until it has succeeded once. */
  start(): void {
    this.#refreshing = this.#loadOnce()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#refreshing
  }

  async #loadOnce(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#load()
      if (this.#isLoaded) return
      await delay(REFRESH_MS, null, { signal, ref: false }).catch(() => {})
    }
  }

  async #load(): Promise<void> {
    try {
      this.#isLoaded = await areSuspensionsReadable(this.#world.db)
    } catch (err) {
      this.#world.log.debug({ err }, 'the pause state could not be loaded')
    }
  }
}
