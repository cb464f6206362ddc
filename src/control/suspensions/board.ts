// The pause state as this process knows it. The gate in the database decides; the board says at once that nothing is
// paused, which is the common case, and a process that could not load it is not ready.
import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../../platform/world.ts'
import { listActiveSuspensionsAnywhere, type ActiveSuspension } from './queries.ts'

const REFRESH_MS = 5_000

export class PauseBoard {
  readonly #world: World
  readonly #stopping = new AbortController()
  #active: readonly ActiveSuspension[] | null = null
  #refreshing: Promise<void> | null = null

  constructor(world: World) {
    this.#world = world
  }

  get isLoaded(): boolean {
    return this.#active !== null
  }

  /** Loads now, then again on every hint and every few seconds. */
  start(): void {
    const forget = this.#world.wakeups.on('suspensions', () => void this.#load())
    this.#refreshing = this.#refreshForEver().finally(forget)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#refreshing
  }

  async #refreshForEver(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#load()
      await delay(REFRESH_MS, null, { signal, ref: false }).catch(() => {})
    }
  }

  /** What was known stays known while the database is away. */
  async #load(): Promise<void> {
    try {
      this.#active = await listActiveSuspensionsAnywhere(this.#world.db)
    } catch (err) {
      this.#world.log.debug({ err }, 'the pause state could not be loaded')
    }
  }
}
