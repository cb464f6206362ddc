// Keeps the loops running: starts them, wakes them, restarts them after a failure with growing pauses, and stops them
// within bounds when the process is asked to end.
import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../world.ts'
import type { Loop } from './loop.ts'
import { advanceTail, readTailOnce } from './tail.ts'

const TAIL_POLL_SECONDS = 1
const FAILURE_PAUSE_MS_MAX = 10_000
/** SIGTERM drains within 30 s in all; the rest is for the servers and the database. */
const STOP_MS_MAX = 20_000

export class Supervisor {
  readonly #world: World
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #failures
  readonly #rounds

  constructor(world: World) {
    this.#world = world
    this.#failures = world.metrics.counter('sluice_loop_failures_total', 'Rounds of a loop that failed', ['loop'])
    this.#rounds = world.metrics.counter('sluice_loop_rounds_total', 'Rounds of a loop that succeeded', ['loop'])
  }

  start(loops: readonly Loop[]): void {
    for (const loop of loops) this.#running.push(this.#drive(loop))
  }

  /** Asks every loop to end its round, and waits for that within bounds. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const all = Promise.all(this.#running)
    const late = delay(STOP_MS_MAX, 'late', { ref: false })
    if ((await Promise.race([all, late])) === 'late') this.#world.log.warn('loops did not end in time')
  }

  async #drive(loop: Loop): Promise<void> {
    const signal = this.#stopping.signal
    const nap = new Nap(signal)
    const forget = loop.kind === 'every' ? null : this.#world.wakeups.on(topicOf(loop), () => nap.end())
    const step = stepOf(this.#world, loop)
    let failures = 0
    while (!signal.aborted) {
      try {
        const worked = await step(signal)
        failures = 0
        this.#rounds.inc({ loop: loop.name })
        if (worked === 0) await nap.begin(pauseMsOf(loop))
        else await rest(loop, worked, signal)
      } catch (err) {
        if (signal.aborted) break
        failures += 1
        this.#failures.inc({ loop: loop.name })
        this.#world.log.error({ err, loop: loop.name, failures }, 'a loop failed and will be tried again')
        await nap.begin(Math.min(100 * 2 ** failures, FAILURE_PAUSE_MS_MAX))
      }
    }
    forget?.()
  }
}

/** Answers how much was done in one round; 0 lets the loop nap. */
function stepOf(world: World, loop: Loop): (signal: AbortSignal) => Promise<number> {
  switch (loop.kind) {
    case 'every':
      return signal => loop.run(world, signal).then(() => 0)
    case 'work':
      return signal => loop.run(world, signal)
    case 'tail':
    case 'range-tail': {
      let step = readTailOnce
      return async () => {
        const read = await step(world, loop)
        step = advanceTail
        return read
      }
    }
  }
}

const topicOf = (loop: Exclude<Loop, { kind: 'every' }>) => (loop.kind === 'work' ? loop.wakeOn : 'journal')

function pauseMsOf(loop: Loop): number {
  switch (loop.kind) {
    case 'every':
      return loop.seconds * 1000
    case 'work':
      return loop.pollSeconds * 1000
    case 'tail':
    case 'range-tail':
      return TAIL_POLL_SECONDS * 1000
  }
}

/**
 * Unlike a nap, no hint ends it. Every round of a tail is a transaction; at many appends a second, one for each would cost
 * more than what it does.
 */
async function rest(loop: Loop, worked: number, signal: AbortSignal): Promise<void> {
  if (loop.kind !== 'range-tail' || !loop.restMs || worked >= loop.batchMax) return
  await delay(loop.restMs(), null, { signal }).catch(() => {})
}

/** A pause that a hint ends early. A hint that comes before the pause is not lost: the pause then is none. */
class Nap {
  readonly #signal: AbortSignal
  #hinted = false
  #wake: (() => void) | null = null

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.end(), { once: true })
  }

  end(): void {
    this.#hinted = true
    this.#wake?.()
  }

  async begin(milliseconds: number): Promise<void> {
    if (!this.#hinted && !this.#signal.aborted) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, milliseconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#wake = null
    }
    this.#hinted = false
  }
}
