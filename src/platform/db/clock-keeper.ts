// Keeps the clock of this process at the database's time, so that the leases of all processes are of one length.
import type { Clock } from '../clock.ts'
import type { Database } from './database.ts'

const EVERY_MS = 10_000

export class ClockKeeper {
  readonly #db: Database
  readonly #clock: Clock
  #timer: NodeJS.Timeout | null = null

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** The first look is waited for: nothing is to be written by a clock that nobody has compared. */
  async start(): Promise<void> {
    this.#clock.follow(await this.#db.clockSkew())
    this.#timer = setInterval(() => void this.look(), EVERY_MS).unref()
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer)
  }

  /** While the database is away the last answer stands. */
  async look(): Promise<void> {
    const skew = await this.#db.clockSkew().catch(() => null)
    if (skew) this.#clock.follow(skew)
  }
}
