// Long work over the queue in batches: two at a time, so that one batch changes rows while the other appends its events.

const LANES = 2

let underWay = 0

/** Whether this process is at such work: delivery then leaves it room. */
export const isMovingQueue = (): boolean => underWay > 0

/** Runs batches until one answers false in each lane, or the process is asked to end. */
export async function inLanes(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!signal.aborted && (await batch()));
  }
  underWay += 1
  try {
    await Promise.all(Array.from({ length: LANES }, lane))
  } finally {
    underWay -= 1
  }
}

/** Lets one at a time look for its part, in the order of asking. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<T>(look: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(look)
    this.#last = mine.catch(() => {})
    return mine
  }
}
