// A small pool of worker threads for work that must not hold the main thread: each job has limits of time and memory, a
// thread that exceeds them is replaced, and accounts take turns. Threads start when first needed; an idle pool does not
// keep the process alive.
import { Worker, type Transferable } from 'node:worker_threads'
import { RoundRobin } from '../fairness/round-robin.ts'

export interface ThreadPoolOptions {
  /** The module that the thread runs. It posts `ready`, then one answer for each job that it is sent. */
  module: URL
  threads: number
  /** Jobs of one owner that wait for a thread; beyond it they fail as `busy`, which is worth another try. */
  queueMax: number
  timeoutMs: number
  heapMbMax: number
}

export type ThreadFailureReason = 'busy' | 'timeout' | 'out_of_memory' | 'crashed' | 'closed'

export class ThreadFailure extends Error {
  readonly reason: ThreadFailureReason

  constructor(reason: ThreadFailureReason, cause?: unknown) {
    super(`a thread could not do its job: ${reason}`, { cause })
    this.name = 'ThreadFailure'
    this.reason = reason
  }
}

interface Job<In, Out> {
  owner: string
  input: In
  transfer: readonly Transferable[]
  resolve: (output: Out) => void
  reject: (failure: ThreadFailure) => void
}

interface Thread<In, Out> {
  worker: Worker
  isReady: boolean
  job: Job<In, Out> | null
  timer: NodeJS.Timeout
}

/** Loading a module takes a tenth of a second; a machine under load may need seconds. */
const STARTUP_MS_MAX = 30_000

export class ThreadPool<In, Out> {
  readonly #options: ThreadPoolOptions
  readonly #threads = new Set<Thread<In, Out>>()
  readonly #waiting = new RoundRobin<Job<In, Out>>()
  #isClosed = false

  constructor(options: ThreadPoolOptions) {
    this.#options = options
  }

  /** Rejects with a `ThreadFailure`. */
  run(input: In, owner: string, transfer: readonly Transferable[] = []): Promise<Out> {
    if (this.#isClosed) return Promise.reject(new ThreadFailure('closed'))
    if (this.#waiting.lengthOf(owner) >= this.#options.queueMax) return Promise.reject(new ThreadFailure('busy'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ owner, input, transfer, resolve, reject }, [owner])
      this.#dispatch()
    })
  }

  /** Stops every thread. Jobs that wait or run fail as `closed`. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (let job = this.#waiting.take(); job; job = this.#waiting.take()) job.reject(new ThreadFailure('closed'))
    await Promise.all([...this.#threads].map(thread => this.#replace(thread, 'closed')))
  }

  #dispatch(): void {
    for (const thread of this.#threads) {
      if (!thread.isReady || thread.job) continue
      const busy = this.#busyOwners()
      const job = this.#waiting.take(undefined, owner => !busy.has(owner))
      if (!job) break
      this.#start(thread, job)
    }
    const starting = [...this.#threads].filter(thread => !thread.isReady).length
    if (this.#waiting.length > starting && this.#threads.size < this.#options.threads && !this.#isClosed) this.#spawn()
  }

  /** Owners that have as many threads as one may have: the last one is for somebody else. */
  #busyOwners(): ReadonlySet<string> {
    const counts = new Map<string, number>()
    for (const { job } of this.#threads) if (job) counts.set(job.owner, (counts.get(job.owner) ?? 0) + 1)
    const ownMax = Math.max(1, this.#options.threads - 1)
    return new Set([...counts].filter(([, count]) => count >= ownMax).map(([owner]) => owner))
  }

  #start(thread: Thread<In, Out>, job: Job<In, Out>): void {
    thread.job = job
    thread.timer = setTimeout(() => void this.#replace(thread, 'timeout'), this.#options.timeoutMs)
    thread.worker.ref()
    thread.worker.postMessage(job.input, job.transfer)
  }

  #spawn(): void {
    const worker = new Worker(new URL('./thread-start.ts', import.meta.url), {
      workerData: { module: this.#options.module.href },
      // A thread needs no secrets from the environment, and none of our flags.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#options.heapMbMax, maxYoungGenerationSizeMb: 16 },
    })
    const timer = setTimeout(() => void this.#replace(thread, 'crashed'), STARTUP_MS_MAX)
    const thread: Thread<In, Out> = { worker, isReady: false, job: null, timer }
    this.#threads.add(thread)
    worker.on('message', (message: 'ready' | Out) => this.#answer(thread, message))
    worker.on('error', (error: NodeJS.ErrnoException) => {
      void this.#replace(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'crashed', error)
    })
    worker.on('exit', () => void this.#replace(thread, 'crashed'))
  }

  #answer(thread: Thread<In, Out>, message: 'ready' | Out): void {
    clearTimeout(thread.timer)
    if (message === 'ready') thread.isReady = true
    else thread.job?.resolve(message)
    thread.job = null
    thread.worker.unref()
    this.#dispatch()
  }

  /** Gives a thread up, fails its job, and goes on with the others. */
  async #replace(thread: Thread<In, Out>, reason: ThreadFailureReason, cause?: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return
    clearTimeout(thread.timer)
    // A thread that never came up takes one job with it, so that a broken start cannot be tried for ever.
    const job = thread.job ?? (thread.isReady ? null : this.#waiting.take())
    job?.reject(new ThreadFailure(reason, cause))
    this.#dispatch()
    await thread.worker.terminate()
  }
}

/** Between threads a Buffer becomes a plain array of bytes; its memory is already the receiver's. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
