// How many connections each owner has in use. One may have as many as are still free: an account whose receivers all hang gets
// half of them, and mail of others always finds some.
import { Tally } from '../../platform/fairness/tally.ts'
import type { Connection } from './connection.ts'

/** Undefined: mail of our own, which has no bound but that of all. */
export type Owner = string | undefined

export class ConnectionShares {
  readonly #max: number
  readonly #inUse = new Tally()
  readonly #owners = new Map<Connection, Owner>()

  constructor(max: number) {
    this.#max = max
  }

  mayOpen(owner: Owner): boolean {
    return owner === undefined || this.#inUse.of(keyOf(owner)) < this.#max - this.#inUse.total
  }

  /** One is being opened; it ends with `adopt` or `giveUp`. */
  open(owner: Owner): void {
    this.#inUse.add(keyOf(owner))
  }

  adopt(connection: Connection, owner: Owner): void {
    this.#owners.set(connection, owner)
  }

  giveUp(owner: Owner): void {
    this.#inUse.add(keyOf(owner), -1)
  }

  /** One that was idle, or another's, is used by this owner. */
  take(connection: Connection, owner: Owner): void {
    this.end(connection)
    this.#inUse.add(keyOf(owner))
    this.#owners.set(connection, owner)
  }

  /** It is idle, or gone. */
  end(connection: Connection): void {
    if (!this.#owners.has(connection)) return
    this.#inUse.add(keyOf(this.#owners.get(connection)), -1)
    this.#owners.delete(connection)
  }
}

const keyOf = (owner: Owner): string => owner ?? ''
