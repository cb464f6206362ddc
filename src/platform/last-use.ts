// When each key or credential was last used, for people who wonder whether one may be revoked. Gathered in memory and
// written once a minute: exact to the minute, and nobody who logs in waits for it.
import { system } from './db/actor.ts'
import type { Tx } from './db/database.ts'
import type { World } from './world.ts'

const WRITE_EVERY_MS = 60_000

interface Use {
  id: string
  at: Date
}

export class LastUse {
  readonly #world: World
  readonly #write: (tx: Tx, uses: Use[]) => Promise<unknown>
  readonly #used = new Map<string, Date>()
  #timer: NodeJS.Timeout | null = null

  constructor(world: World, write: (tx: Tx, uses: Use[]) => Promise<unknown>) {
    this.#world = world
    this.#write = write
  }

  note(id: string): void {
    this.#used.set(id, this.#world.clock.now())
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS).unref()
  }

  /** Lost when the database is away: the next use writes it again. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const uses = [...this.#used].map(([id, at]) => ({ id, at }))
    this.#used.clear()
    if (uses.length === 0) return
    await this.#world.db
      .transact(system('last-use'), tx => this.#write(tx, uses))
      .catch(err => this.#world.log.debug({ err }, 'last uses were not written'))
  }
}
