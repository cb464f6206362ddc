// Long work over the queue in batches: two at a time, so that one batch changes rows while the other appends its events;
// and in time slices, so that a short piece of work does not wait for the end of a long one.
import type { LoadShedder } from '../../platform/work/load-shedder.ts'
import { oneByOne } from '../../platform/work/one-by-one.ts'
import type { World } from '../../platform/world.ts'

const BATCHES_AT_ONCE = 2

/** Runs batches until each of two in a row answers false, or the process is asked to end. */
async function runConcurrently(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  const run = async (): Promise<void> => {
    while (!signal.aborted && (await batch()));
  }
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, run))
}

/** How long one piece of work goes on while others wait. */
const SLICE_MS = 500

export interface LongWork<Job extends { id: string }, Scan> {
  /** Where its batches run: delivery claims less meanwhile, for they change much of the same queue. */
  load: LoadShedder
  /** What there is to do, in its order. */
  list(): Promise<Job[]>
  begin(job: Job): Scan
  /** Answers whether there may be more. */
  batch(job: Job, scan: Scan): Promise<boolean>
  /** The scan is over; answers whether that was worth it, or the job is to be looked at later. */
  end(job: Job, scan: Scan): Promise<boolean>
}

/** Of a worker that goes on with what its last run began. */
export type Run = (world: World, signal: AbortSignal) => Promise<number>

export class TimeSlices<Job extends { id: string }, Scan> {
  /** Scans that did not end within their time slice. */
  readonly #scans = new Map<string, Scan>()

  /** One slice for each job; answers how many are worth another look. */
  async next(work: LongWork<Job, Scan>, signal: AbortSignal): Promise<number> {
    let worth = 0
    await oneByOne(await work.list(), async job => {
      if (signal.aborted) return
      const scan = this.#scans.get(job.id) ?? work.begin(job)
      // A scan that fails is begun again: its transaction was rolled back.
      this.#scans.delete(job.id)
      const isCut = await this.#slice(work, { job, scan }, signal)
      if (isCut) this.#scans.set(job.id, scan)
      if (isCut || (!signal.aborted && (await work.end(job, scan)))) worth += 1
    })
    return signal.aborted ? 0 : worth
  }

  async #slice(work: LongWork<Job, Scan>, { job, scan }: { job: Job; scan: Scan }, signal: AbortSignal) {
    let isCut = false
    let until = performance.now() + SLICE_MS
    const batches = () =>
      runConcurrently(signal, async () => {
        if (!isCut && performance.now() > until) {
          until = performance.now() + SLICE_MS
          isCut = (await work.list()).length > 1
        }
        return !isCut && work.batch(job, scan)
      })
    await work.load.yieldDuring(batches)
    return isCut
  }
}
