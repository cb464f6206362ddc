// How many connections an address has at the MX ports of all processes. Each counts its own and tells the others once a second
// of addresses that have many, so the bound is overstepped by a second's worth at the most and an honest sender costs no write.
import { randomUUID } from 'node:crypto'
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'
import { listConnectionsElsewhere, upsertConnections } from './queries.ts'

const TELL_EVERY_MS = 1_000
/** What was told longer ago counts no more: the process is gone. */
const FRESH_MS = 10_000
/** Addresses that have fewer are no concern of the other processes. */
const TOLD_MIN = 10
/** At a time: a flood from everywhere costs bounded writes. */
const TOLD_MAX = 500
const BY = system('receiving')

export class ConnectionCounts {
  readonly #world: World
  readonly #processId = randomUUID()
  readonly #own: () => Iterable<[network: string, count: number]>
  #elsewhere: ReadonlyMap<string, number> = new Map()
  #timer: NodeJS.Timeout | null = null

  constructor(world: World, own: () => Iterable<[network: string, count: number]>) {
    this.#world = world
    this.#own = own
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#tell(), TELL_EVERY_MS)
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** As far as they have told. */
  elsewhere(network: string): number {
    return this.#elsewhere.get(network) ?? 0
  }

  async #tell(): Promise<void> {
    const told = [...this.#own()]
      .filter(([, count]) => count >= TOLD_MIN)
      .slice(0, TOLD_MAX)
      .map(([network, count]) => ({ network, count }))
      .toSorted((a, b) => (a.network < b.network ? -1 : 1))
    try {
      this.#elsewhere = told.length > 0 ? await this.#exchange(told) : new Map()
    } catch {
      // Without the database each process keeps its own bound.
      this.#elsewhere = new Map()
    } finally {
      if (this.#timer) this.start()
    }
  }

  async #exchange(told: readonly { network: string; count: number }[]): Promise<Map<string, number>> {
    const processId = this.#processId
    const rows = await this.#world.db.transactLightly(BY, async tx => {
      await upsertConnections(tx, processId, told)
      const networks = told.map(({ network }) => network)
      return listConnectionsElsewhere(tx, { processId, networks, since: new Date(tx.now.getTime() - FRESH_MS) })
    })
    return new Map(rows.map(({ network, count }) => [network, count]))
  }
}
