// Results on their way into the database, many to a transaction. What was handed in is kept until it is recorded, however
// long the database is away: the work behind it is done, and forgetting the result would do it again. It is never more than
// what the process has in flight, because an item stays in flight until its result is on record.
import { setTimeout as delay } from 'node:timers/promises'
import { Batcher, type Gathering } from '../batcher.ts'
import { retryWhileUnavailable } from '../db/retry.ts'

const BATCH_MAX = 500

interface RecorderOptions<Entry, Answer> {
  /** How many batches may be under way at once. */
  slots: number
  gathers?: Gathering | undefined
  /** Which part of a transaction an entry takes; a heavier one than a whole has one for itself. */
  weightOf?: ((entry: Entry) => number) | undefined
  /** Whose share of a transaction an entry takes. Without it: first come, first served. */
  sharedBy?: (entry: Entry) => readonly string[]
  /**
   * Stores a batch in a transaction of its own; answers in the same order. `isRepeated`: an earlier try failed because the
   * database was away, and may have been committed without our hearing of it.
   */
  store: (entries: readonly Entry[], batch: { isRepeated: boolean }) => Promise<Answer[]>
}

export class Recorder<Entry, Answer> {
  readonly #batcher: Batcher<Entry, Answer>
  readonly #givingUp = new AbortController()
  #results = 0

  constructor({ slots, gathers, weightOf = () => 0, sharedBy = () => [], store }: RecorderOptions<Entry, Answer>) {
    this.#batcher = new Batcher<Entry, Answer>({
      itemsMax: BATCH_MAX,
      slots,
      gathers,
      weightMax: 1,
      weightOf,
      sharedBy,
      run: entries => {
        let tries = 0
        return retryWhileUnavailable(() => store(entries, { isRepeated: tries++ > 0 }), this.#givingUp.signal)
      },
    })
  }

  async record(entry: Entry): Promise<Answer> {
    this.#results += 1
    return this.#batcher.submit(entry).finally(() => (this.#results -= 1))
  }

  /** For what follows from a batch and must not be forgotten either. */
  keepTrying<T>(act: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(act, this.#givingUp.signal)
  }

  /** What is not recorded by now gets one last try; answers how many known results that are. */
  giveUp(): number {
    this.#givingUp.abort()
    return this.#results
  }
}

/** Waits until nothing is in flight, for so long at the most. */
export async function untilDrained(inFlight: { readonly size: number }, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (inFlight.size > 0 && performance.now() < deadline) await delay(20)
}
