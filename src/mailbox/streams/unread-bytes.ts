// What the readers of streams have not taken yet is in our memory. All of them together, and those of one account, have a
// bound; how far a single one may be behind is the business of its stream.
import { Tally } from '../../platform/fairness/tally.ts'

const ACCOUNT_BYTES_MAX = 32 * 1024 * 1024
const ALL_BYTES_MAX = 64 * 1024 * 1024

interface Reader {
  readonly accountId: string
  readonly backlogBytes: number
  /** Because it is behind. */
  cut(): void
}

export class UnreadBytes {
  readonly #noted = new Map<Reader, number>()
  readonly #byAccount = new Tally()

  /** To be called when something was written to the reader. */
  note(reader: Reader): void {
    this.#count(reader)
    if (this.#isOver(reader.accountId)) this.#relieve(reader.accountId)
  }

  forget(reader: Reader): void {
    this.#byAccount.add(reader.accountId, -(this.#noted.get(reader) ?? 0))
    this.#noted.delete(reader)
  }

  #count(reader: Reader): void {
    const { accountId, backlogBytes } = reader
    this.#byAccount.add(accountId, backlogBytes - (this.#noted.get(reader) ?? 0))
    if (backlogBytes > 0) this.#noted.set(reader, backlogBytes)
    else this.#noted.delete(reader)
  }

  #isOver(accountId: string): boolean {
    return this.#byAccount.of(accountId) > ACCOUNT_BYTES_MAX || this.#byAccount.total > ALL_BYTES_MAX
  }

  /** What was noted may have been taken since. Where it was not, the account that is furthest behind loses its slowest. */
  #relieve(accountId: string): void {
    for (const reader of this.#noted.keys()) this.#count(reader)
    if (!this.#isOver(accountId)) return
    const owners = new Set([...this.#noted.keys()].map(reader => reader.accountId))
    const heaviest = [...owners].reduce((most, each) =>
      this.#byAccount.of(each) > this.#byAccount.of(most) ? each : most,
    )
    const slowest = [...this.#noted.keys()]
      .filter(reader => reader.accountId === heaviest)
      .toSorted((left, right) => right.backlogBytes - left.backlogBytes)
    // More than is needed now, or the next event would have us look again.
    const enough = this.#byAccount.of(heaviest) / 2
    for (const reader of slowest) {
      if (this.#byAccount.of(heaviest) <= enough) return
      reader.cut()
      this.forget(reader)
    }
  }
}
