// Retention in the order of an index, past rows that must stay. Those of accounts under legal hold lie at its old end for
// years and may be millions: a scan goes on where it was, so that they are read once a day and not by every batch.
import { inBatches } from './in-batches.ts'

export interface Scanned<Key> {
  /** Rows that were looked at, deleted or not. */
  scanned: number
  deleted: number
  /** The key of the last of them; null where there was none. */
  last: Key | null
}

interface Pass {
  now: Date
  /** Rows of a full batch. */
  size: number
  signal: AbortSignal
}

/** Then it begins again: a hold may have been lifted, and what was locked by others is free. */
const ROUND_MS = 86_400_000

export class RetentionScan<Key> {
  #after: Key | null = null
  #beganMs = -Infinity

  /** Batches until one is not full; answers how many rows were deleted. */
  async run({ now, size, signal }: Pass, batch: (after: Key | null) => Promise<Scanned<Key>>): Promise<number> {
    // Also after a clock that was set back.
    if (Math.abs(now.getTime() - this.#beganMs) >= ROUND_MS) {
      this.#after = null
      this.#beganMs = now.getTime()
    }
    let total = 0
    await inBatches(signal, size, async () => {
      const { scanned, deleted, last } = await batch(this.#after)
      this.#after = last ?? this.#after
      total += deleted
      return scanned
    })
    return total
  }
}
