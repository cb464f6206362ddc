// Failed logins on their way into the journal. The first few are recorded at once; while more come from the same network to
// the same key or credential, they are counted and recorded once a minute. Anybody who knows a key's public prefix could
// otherwise fill its owner's journal with a thousand events a second.
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import { Tally } from '../../platform/fairness/tally.ts'
import { networkOf } from '../../platform/net/cidr.ts'
import type { World } from '../../platform/world.ts'

const TELL_EVERY_MS = 60_000
/** A person who mistypes a password is seen as it happens. */
const TOLD_AT_ONCE_MAX = 5
/** Networks told apart for one subject; further ones are counted together, so that a botnet makes few events too. */
const NETWORKS_PER_SUBJECT_MAX = 20
/** About 5 MB. Beyond it the one that began the longest ago is told and forgotten. */
const ENTRIES_MAX = 10_000

interface AuthFailure {
  /** What was guessed at: a key, or a credential and the way in which it failed. */
  subject: string
  accountId: string
  tenantId: string | null
  ip: string
  /** What the event says besides the address and the count. */
  data: object
}

interface Entry {
  subject: string
  failure: AuthFailure
  isOfMany: boolean
  toldAtOnce: number
  /** Not told yet. */
  count: number
}

interface Told {
  entry: Entry
  count: number
}

export class AuthFailures {
  readonly #world: World
  readonly #batcher: Batcher<Told, void>
  /** By subject and network, the one that began the longest ago first. */
  readonly #entries = new Map<string, Entry>()
  readonly #networks = new Tally()
  #timer: NodeJS.Timeout | null = null

  constructor(world: World, actor: string) {
    this.#world = world
    this.#batcher = new Batcher({ run: told => this.#record(actor, told), itemsMax: 500, slots: 1 })
  }

  /** Resolves when the failure is in the journal or counted. */
  async note(failure: AuthFailure): Promise<void> {
    const key = this.#keyOf(failure)
    const known = this.#entries.get(key)
    if (known && known.toldAtOnce >= TOLD_AT_ONCE_MAX) {
      known.count += 1
      return
    }
    const entry = known ?? { subject: failure.subject, failure, isOfMany: key.endsWith(MANY), toldAtOnce: 0, count: 0 }
    entry.toldAtOnce += 1
    if (!known) this.#add(key, entry)
    await this.#batcher.submit({ entry, count: 1 })
  }

  /** Tells what was counted. What had none for a minute is forgotten, so that its next one is told at once. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const telling: Promise<void>[] = []
    for (const [key, entry] of this.#entries) {
      if (entry.count === 0) this.#remove(key, entry)
      else telling.push(this.#tell(entry))
    }
    this.#schedule()
    await Promise.all(telling)
  }

  async #tell(entry: Entry): Promise<void> {
    const { count } = entry
    entry.count = 0
    await this.#batcher.submit({ entry, count }).catch(err => {
      // The database is away; the next minute tells them as well.
      entry.count += count
      this.#world.log.warn({ err }, 'failed logins could not be recorded')
    })
  }

  #keyOf({ subject, ip }: AuthFailure): string {
    const key = `${subject} ${networkOf(ip)}`
    const isFull = this.#networks.of(subject) >= NETWORKS_PER_SUBJECT_MAX
    return isFull && !this.#entries.has(key) ? `${subject} ${MANY}` : key
  }

  #add(key: string, entry: Entry): void {
    this.#entries.set(key, entry)
    this.#networks.add(entry.subject)
    this.#schedule()
    if (this.#entries.size <= ENTRIES_MAX) return
    for (const [oldest, old] of this.#entries) {
      this.#remove(oldest, old)
      if (old.count > 0) void this.#tell(old)
      break
    }
  }

  #remove(key: string, { subject }: Entry): void {
    this.#entries.delete(key)
    this.#networks.add(subject, -1)
  }

  #schedule(): void {
    if (this.#entries.size > 0) this.#timer ??= setTimeout(() => void this.flush(), TELL_EVERY_MS).unref()
  }

  async #record(actor: string, told: Told[]): Promise<void[]> {
    await this.#world.db.transact(system(actor), async tx => {
      for (const { entry, count } of told) {
        const { accountId, tenantId, ip, data } = entry.failure
        tx.record({
          type: 'auth_failed',
          accountId,
          tenantId,
          data: { ...data, ip: entry.isOfMany ? null : ip, ...(count > 1 && { count }) },
        })
      }
    })
    return told.map(() => undefined)
  }
}

/** In the place of a network: all those that are not told apart. */
const MANY = '*'
