// Keeps the workers running: starts them, wakes them, restarts them after a failure with backoff, and stops them within
// bounds when the process is asked to end.
import { setTimeout as delay } from 'node:timers/promises'
import type { Topic } from '../db/wakeups.ts'
import { inTime } from '../in-time.ts'
import type { World } from '../world.ts'
import type { Worker } from './worker.ts'
import { Nap } from './nap.ts'
import { advanceTailIfBehind, readTailOnce } from './tail.ts'

const TAIL_POLL_SECONDS = 1
const BACKOFF_MS_MAX = 10_000
/** SIGTERM drains within 30 s in all; the rest is for the servers and the database. */
const STOP_MS_MAX = 20_000
/** So long, the next worker waits for the first round of one. */
const FIRST_ROUND_MS_MAX = 50

export class Supervisor {
  readonly #world: World
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #failures
  readonly #rounds

  constructor(world: World) {
    this.#world = world
    this.#failures = world.metrics.counter('sluice_worker_failures_total', 'Rounds of a worker that failed', ['worker'])
    this.#rounds = world.metrics.counter('sluice_worker_rounds_total', 'Rounds of a worker that succeeded', ['worker'])
  }

  start(workers: readonly Worker[]): void {
    void this.#startOneByOne(workers)
  }

  /** All first rounds at once would open every connection that the pool may have, and so would all their polls. */
  async #startOneByOne(workers: readonly Worker[]): Promise<void> {
    for (const worker of workers) {
      if (this.#stopping.signal.aborted) return
      const first = Promise.withResolvers<void>()
      this.#running.push(this.#drive(worker, first.resolve))
      await inTime(FIRST_ROUND_MS_MAX, first.promise, () => {})
    }
  }

  /** Asks every worker to end its round, and waits for that within bounds. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const all = Promise.all(this.#running)
    const late = delay(STOP_MS_MAX, 'late', { ref: false })
    if ((await Promise.race([all, late])) === 'late') this.#world.log.warn('workers did not end in time')
  }

  async #drive(worker: Worker, roundEnded: () => void): Promise<void> {
    const { signal } = this.#stopping
    const nap = new Nap()
    signal.addEventListener('abort', () => nap.end(), { once: true })
    const { round, napMs, wakeOn } = roundsOf(this.#world, worker)
    const forget = wakeOn && this.#world.wakeups.on(wakeOn, () => nap.end())
    let failures = 0
    while (!signal.aborted) {
      try {
        const worked = await round(signal)
        failures = 0
        this.#rounds.inc({ worker: worker.name })
        roundEnded()
        if (worked === 0) await nap.begin(napMs)
        else await rest(worker, worked, signal)
      } catch (err) {
        if (signal.aborted) break
        failures += 1
        roundEnded()
        this.#failures.inc({ worker: worker.name })
        this.#world.log.error({ err, worker: worker.name, failures }, 'a worker failed and will be tried again')
        await nap.begin(Math.min(100 * 2 ** failures, BACKOFF_MS_MAX))
      }
    }
    forget?.()
  }
}

interface Rounds {
  /** Answers how much was done; 0 lets the worker nap. */
  round: (signal: AbortSignal) => Promise<number>
  napMs: number
  wakeOn: Topic | null
}

function roundsOf(world: World, worker: Worker): Rounds {
  switch (worker.kind) {
    case 'periodic':
      return {
        round: signal => worker.run(world, signal).then(() => 0),
        napMs: worker.seconds * 1000,
        wakeOn: null,
      }
    case 'due':
      return { round: signal => worker.run(world, signal), napMs: worker.pollSeconds * 1000, wakeOn: worker.wakeOn }
    case 'tail': {
      let step = readTailOnce
      const round = async (): Promise<number> => {
        const read = await step(world, worker)
        step = advanceTailIfBehind
        return read
      }
      return { round, napMs: TAIL_POLL_SECONDS * 1000, wakeOn: 'journal' }
    }
  }
}

/**
 * Unlike a nap, no hint ends it. Every round of a tail is a transaction; at many appends a second, one for each would cost
 * more than what it does.
 */
async function rest(worker: Worker, worked: number, signal: AbortSignal): Promise<void> {
  if (worker.kind !== 'tail' || !worker.restMs || worked >= worker.batchMax) return
  await delay(worker.restMs(), null, { signal }).catch(() => {})
}
