// How many rows a transaction may take on, learned from how long the last ones took.

/** A transaction that takes longer is followed by a smaller one. */
const ROUND_MS_GOOD = 300

/** Fewer rows when the last transaction was slow, and much fewer when it failed. */
export class RowLimit {
  readonly #bounds: Readonly<{ min: number; max: number }>
  #max: number

  constructor(bounds: { min: number; max: number }) {
    this.#bounds = bounds
    this.#max = bounds.max
  }

  get max(): number {
    return this.#max
  }

  async learn<T>(write: (rowsMax: number) => Promise<T>): Promise<T> {
    const before = this.#max
    const began = performance.now()
    // Unless it ends in time: one that was too much must be smaller when it is tried again.
    this.#set(before / 4)
    const result = await write(before)
    this.#set(performance.now() - began < ROUND_MS_GOOD ? before * 2 : before / 2)
    return result
  }

  /** Nothing fitted, so nothing can be learned: with a limit that stays nothing would ever fit. */
  recover(): void {
    this.#set(this.#max * 2)
  }

  #set(rows: number): void {
    this.#max = Math.max(this.#bounds.min, Math.min(this.#bounds.max, Math.floor(rows)))
  }
}
