// Long work on the main thread, in slices: a generator yields where others may go on. One slice runs per turn of the event
// loop, whatever number of callers have one ready, and accounts are served round robin; so nobody waits for more than a slice
// or two of others. There is one for all work, in the World.
import { RoundRobin } from './fairness/round-robin.ts'

interface Waiting {
  run: () => void
}

export class Slices {
  readonly #waiting = new RoundRobin<Waiting>()
  #isScheduled = false

  /** Runs the generator to its end, a slice at a time. `path` says for whom it runs, broadest first. */
  run<T>(work: Generator<void, T>, path: readonly string[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const slice = {
        run: () => {
          try {
            const { done, value } = work.next()
            if (done) resolve(value)
            else this.#enqueue(slice, path)
          } catch (error) {
            reject(error as Error)
          }
        },
      }
      this.#enqueue(slice, path)
    })
  }

  #enqueue(slice: Waiting, path: readonly string[]): void {
    this.#waiting.push(slice, path)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#next())
  }

  #next(): void {
    this.#waiting.take()?.run()
    this.#isScheduled = this.#waiting.length > 0
    // Not within this turn: what came in over the sockets meanwhile goes first.
    if (this.#isScheduled) setImmediate(() => this.#next())
  }
}

/** All slices at once: for work that is known to be short. */
export function runAtOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
