// Long work over the queue in batches: two at a time, so that one batch changes rows while the other appends its events; and
// in turns, so that a short piece of work does not wait for the end of a long one.

const LANES = 2

/** Runs batches until one answers false in each lane, or the process is asked to end. */
async function inLanes(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!signal.aborted && (await batch()));
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** How long one piece of work goes on while others wait. */
const TURN_MS = 500

export interface LongWork<Job extends { id: string }, Walk> {
  /** What there is to do, in its order. */
  list(): Promise<Job[]>
  begin(job: Job): Walk
  /** Answers whether there may be more. */
  batch(job: Job, walk: Walk): Promise<boolean>
  /** The walk is over; answers whether that was worth it, or the job is to be looked at later. */
  end(job: Job, walk: Walk): Promise<boolean>
}

export class InTurns<Job extends { id: string }, Walk> {
  /** Where those stand whose turn ended before their walk did. */
  readonly #walks = new Map<string, Walk>()

  /** One turn for each; answers how many are worth another look. */
  async next(work: LongWork<Job, Walk>, signal: AbortSignal): Promise<number> {
    let worth = 0
    for (const job of await work.list()) {
      if (signal.aborted) return 0
      const walk = this.#walks.get(job.id) ?? work.begin(job)
      // A walk that fails is begun again: what it was at is undone.
      this.#walks.delete(job.id)
      const isCut = await this.#turn(work, { job, walk }, signal)
      if (isCut) this.#walks.set(job.id, walk)
      if (isCut || (!signal.aborted && (await work.end(job, walk)))) worth += 1
    }
    return worth
  }

  async #turn(
    work: LongWork<Job, Walk>,
    { job, walk }: { job: Job; walk: Walk },
    signal: AbortSignal,
  ): Promise<boolean> {
    let isCut = false
    let until = performance.now() + TURN_MS
    await inLanes(signal, async () => {
      if (!isCut && performance.now() > until) {
        until = performance.now() + TURN_MS
        isCut = (await work.list()).length > 1
      }
      return !isCut && work.batch(job, walk)
    })
    return isCut
  }
}
