// When each key was last used, for people who wonder whether a key may be revoked. Gathered in memory and written
// once a minute: exact to the minute, and nothing on the request path waits for it.
import { updateLastUsed } from '../api-keys/last-used.ts'
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'

const WRITE_EVERY_MS = 60_000

export class KeyUse {
  readonly #world: World
  readonly #used = new Map<string, Date>()
  #timer: NodeJS.Timeout | null = null

  constructor(world: World) {
    this.#world = world
  }

  note(keyId: string): void {
    this.#used.set(keyId, this.#world.clock.now())
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS).unref()
  }

  /** Lost when the database is away: the next use writes it again. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const uses = [...this.#used].map(([keyId, at]) => ({ keyId, at }))
    this.#used.clear()
    if (uses.length === 0) return
    await this.#world.db
      .transact(system('gatekeeper'), tx => updateLastUsed(tx, uses))
      .catch(err => this.#world.log.debug({ err }, 'last use of keys was not written'))
  }
}
