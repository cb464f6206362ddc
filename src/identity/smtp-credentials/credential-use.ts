// When each credential was last used, for people who wonder whether one may be deleted. Gathered in memory and written
// once a minute: exact to the minute, and no login waits for it.
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { updateCredentialsLastUsed } from './queries.ts'

const WRITE_EVERY_MS = 60_000

export class CredentialUse {
  readonly #world: World
  readonly #used = new Map<string, Date>()
  #timer: NodeJS.Timeout | null = null

  constructor(world: World) {
    this.#world = world
  }

  note(credentialId: string): void {
    this.#used.set(credentialId, this.#world.clock.now())
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS).unref()
  }

  /** Lost when the database is away: the next use writes it again. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const uses = [...this.#used].map(([credentialId, at]) => ({ credentialId, at }))
    this.#used.clear()
    if (uses.length === 0) return
    await this.#world.db
      .transact(system('smtp-gatekeeper'), tx => updateCredentialsLastUsed(tx, uses))
      .catch(err => this.#world.log.debug({ err }, 'last use of SMTP credentials was not written'))
  }
}
