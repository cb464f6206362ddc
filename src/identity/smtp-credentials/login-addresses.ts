// Where each credential logs in from, per minute: a stolen one is used from many places. Gathered in memory and written
// soon after, because the guardian looks every ten seconds; nobody who logs in waits for it.
import { system } from '../../platform/db/actor.ts'
import { unmapped } from '../../platform/net/cidr.ts'
import type { World } from '../../platform/world.ts'
import type { SmtpPrincipal } from './authenticate.ts'
import { insertCredentialAddresses, type CredentialAddress } from './queries.ts'

const WRITE_EVERY_MS = 1_500
const MINUTE_MS = 60_000
/** What may wait while the database is away. A credential used from more addresses than this is found by the first of them. */
const WAITING_MAX = 50_000
/** Of one credential in a minute. More say nothing new: ten in an hour are an alert unless the account says otherwise. */
const ADDRESSES_PER_MINUTE_MAX = 100

export class LoginAddresses {
  readonly #world: World
  #waiting = new Map<string, CredentialAddress>()
  /** Of the running minute, by credential. */
  #seen = new Map<string, Set<string>>()
  #seenMinuteMs = 0
  #timer: NodeJS.Timeout | null = null

  constructor(world: World) {
    this.#world = world
  }

  note({ credentialId, accountId, tenantId }: SmtpPrincipal, ip: string): void {
    const minute = new Date(Math.floor(this.#world.clock.now().getTime() / MINUTE_MS) * MINUTE_MS)
    const address = unmapped(ip)
    if (this.#waiting.size >= WAITING_MAX || !this.#isNews(credentialId, minute.getTime(), address)) return
    this.#waiting.set(`${credentialId} ${minute.getTime()} ${address}`, {
      credentialId,
      accountId,
      tenantId,
      minute,
      address,
    })
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS).unref()
  }

  /** Not when it was noted in this minute, or when enough others were. */
  #isNews(credentialId: string, minuteMs: number, address: string): boolean {
    if (minuteMs !== this.#seenMinuteMs) {
      this.#seen = new Map()
      this.#seenMinuteMs = minuteMs
    }
    let seen = this.#seen.get(credentialId)
    if (!seen) this.#seen.set(credentialId, (seen = new Set()))
    if (seen.size >= ADDRESSES_PER_MINUTE_MAX || seen.has(address)) return false
    seen.add(address)
    return true
  }

  /** What cannot be written now is kept for the next time. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const written = this.#waiting
    if (written.size === 0) return
    this.#waiting = new Map()
    try {
      const rows = [...written.values()]
      await this.#world.db.transactLightly(system('login-addresses'), tx => insertCredentialAddresses(tx, rows))
    } catch (err) {
      this.#world.log.debug({ err }, 'addresses of logins were not written')
      for (const [key, row] of written) if (this.#waiting.size < WAITING_MAX) this.#waiting.set(key, row)
    }
  }
}
