// The worker threads of the process, for work that must not occupy the main thread. Each job has limits of time and memory, a
// thread that exceeds them is replaced, and accounts are served round robin. One pool for every kind of work: a thread
// costs tens of megabytes, and hardly ever are all kinds busy. One more thread is kept for short work, so that it never waits
// for long work of others. Threads start when first needed; an idle pool does not keep the process alive.
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker, type Transferable } from 'node:worker_threads'
import { RoundRobin } from '../fairness/round-robin.ts'
import { cpuMsOf } from './cpu-time.ts'
import type { ThreadNews, ThreadOrder } from './thread-start.ts'

interface ThreadPoolOptions {
  /** For work of any length, besides the one for short work. */
  threads?: number
  heapMbMax?: number
}

/** One kind of work. */
export interface ThreadWork {
  /** The module that does it: it exports `work`, a `Work`. */
  module: URL
  /** Jobs of one owner, or one part of it, that wait for a thread; beyond it they fail as `busy`, worth another try. */
  queueMax: number
  /** Of a core's time: threads give way to the main thread, and a busy machine must not make a message too slow to read. */
  timeoutMs: number
  /**
   * What the thread may use outside its heap while it does such a job. The engine's own limit does not cover array buffers,
   * and a library that decompresses may fill the machine with them.
   */
  buffersMbMax?: number
}

interface ThreadJob<In> {
  input: In
  /** Whose share it takes. */
  owner: string
  /** Whose part of the share, where the owner stands for many: each has its own queue, and they are served round robin. */
  part?: string | undefined
  /** How much there is to read, where that bounds the time that reading takes. Without it the job is long. */
  bytes?: number | undefined
  transfer?: readonly Transferable[]
}

type ThreadFailureReason = 'busy' | 'timeout' | 'out_of_memory' | 'crashed' | 'closed'

export class ThreadFailure extends Error {
  readonly reason: ThreadFailureReason

  constructor(reason: ThreadFailureReason, cause?: unknown) {
    super(`a thread could not do its job: ${reason}`, { cause })
    this.name = 'ThreadFailure'
    this.reason = reason
  }
}

interface Waiting {
  owner: string
  isShort: boolean
  work: ThreadWork
  order: ThreadOrder
  transfer: readonly Transferable[]
  resolve: (output: unknown) => void
  reject: (failure: ThreadFailure) => void
}

interface Thread {
  worker: Worker
  /** It does short work only. */
  isForShort: boolean
  isReady: boolean
  /** Modules that it has loaded, or is loading. */
  loaded: Set<string>
  job: Waiting | null
  /** The time of a core that it had used when it last told of itself. */
  cpuMs: number
  timer: NodeJS.Timeout
  /** Runs while its job has a limit of buffers. */
  watch: NodeJS.Timeout | null
}

/** One account has at most two of them. */
const THREADS = 3
/** Mail of this size, made to be slow, takes half a second of a core; JSON and what is submitted take less. */
export const SHORT_BYTES_MAX = 512 * 1024
/** The text of a body of 40 MB, what is parsed from it and the copy that is posted back. Sources live outside the heap. */
const HEAP_MB_MAX = 320
/** Starting takes a tenth of a second; a machine under load may need seconds. */
const STARTUP_MS_MAX = 30_000
/** How many times its time a job may take by the clock. */
const CLOCK_FACTOR = 6
/** A thread fills some ten megabytes in this time. */
const BUFFERS_CHECK_MS = 50

/**
 * Without it every thread strips the types of its modules and compiles them again: its first job took 550 ms of CPU and 50 MB,
 * with it 180 ms and 32 MB. The folder has one for each version of Node.
 */
const compiled = getCompileCacheDir()
const COMPILE_CACHE = compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) }

export class ThreadPool {
  readonly #threadsMax: number
  readonly #heapMbMax: number
  readonly #threads = new Set<Thread>()
  readonly #short = new RoundRobin<Waiting>()
  readonly #long = new RoundRobin<Waiting>()
  #wasShort = false
  #isClosed = false

  constructor({ threads = THREADS, heapMbMax = HEAP_MB_MAX }: ThreadPoolOptions = {}) {
    this.#threadsMax = threads
    this.#heapMbMax = heapMbMax
  }

  /** Rejects with a `ThreadFailure`. */
  run<In, Out>(work: ThreadWork, job: ThreadJob<In>): Promise<Out> {
    if (this.#isClosed) return Promise.reject(new ThreadFailure('closed'))
    const { input, owner, part, bytes = Infinity, transfer = [] } = job
    const path = [owner, ...(part === undefined ? [] : [part]), work.module.href]
    const waiting = this.#short.lengthOf(path) + this.#long.lengthOf(path)
    if (waiting >= work.queueMax) return Promise.reject(new ThreadFailure('busy'))
    return new Promise<Out>((resolve, reject) => {
      const order = { module: work.module.href, input }
      const isShort = bytes <= SHORT_BYTES_MAX
      const queue = isShort ? this.#short : this.#long
      queue.push({ owner, isShort, work, order, transfer, resolve: resolve as Waiting['resolve'], reject }, path)
      this.#dispatch()
    })
  }

  /** Stops every thread. Jobs that wait or run fail as `closed`. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const queue of [this.#short, this.#long])
      for (let job = queue.take(); job; job = queue.take()) job.reject(new ThreadFailure('closed'))
    await Promise.all([...this.#threads].map(thread => this.#replace(thread, 'closed')))
  }

  #dispatch(): void {
    const idle = [...this.#threads].filter(thread => thread.isReady && !thread.job)
    // The thread for short work comes last: it is there for when the others are busy.
    for (const thread of idle.toSorted((a, b) => Number(a.isForShort) - Number(b.isForShort))) {
      const job = this.#take(thread)
      if (job) this.#start(thread, job)
    }
    if (this.#isClosed) return
    const forAny = [...this.#threads].filter(thread => !thread.isForShort)
    const starting = forAny.filter(thread => !thread.isReady).length
    if (forAny.length < this.#threadsMax) {
      if (this.#short.length + this.#long.length > starting) this.#spawn({ isForShort: false })
    } else if (this.#short.length > 0 && forAny.length === this.#threads.size) {
      // Behind a short job one need not wait long.
      if (forAny.every(({ job }) => job && !job.isShort)) this.#spawn({ isForShort: true })
    }
  }

  /**
   * The next job for the thread, removed from its queue. An owner has all but one of the threads for work of any length, and
   * that for short work only while it has no other. Short and long work are taken in turn: neither keeps the other waiting.
   */
  #take({ isForShort }: Thread): Waiting | undefined {
    const running = new Map<string, number>()
    for (const { job } of this.#threads) if (job) running.set(job.owner, (running.get(job.owner) ?? 0) + 1)
    if (isForShort) return this.#short.take(undefined, owner => !running.has(owner))
    const ownMax = Math.max(1, this.#threadsMax - 1)
    const mayServe = (owner: string): boolean => (running.get(owner) ?? 0) < ownMax
    this.#wasShort = !this.#wasShort
    const [first, second] = this.#wasShort ? [this.#short, this.#long] : [this.#long, this.#short]
    return first.take(undefined, mayServe) ?? second.take(undefined, mayServe)
  }

  #start(thread: Thread, job: Waiting): void {
    thread.job = job
    // The first job of its kind begins with loading the module, which does not count.
    if (thread.loaded.has(job.order.module)) this.#limit(thread, job.work)
    else this.#replaceAfter(thread, STARTUP_MS_MAX, 'timeout')
    thread.loaded.add(job.order.module)
    const { buffersMbMax } = job.work
    if (buffersMbMax) thread.watch = setInterval(() => void this.#checkBuffers(thread, buffersMbMax), BUFFERS_CHECK_MS)
    thread.worker.ref()
    thread.worker.postMessage(job.order, job.transfer)
  }

  /** The job has its time of a core from now on, and a multiple of it by the clock. */
  #limit(thread: Thread, { timeoutMs }: ThreadWork, clockMs = timeoutMs * CLOCK_FACTOR): void {
    if (clockMs <= timeoutMs) return this.#replaceAfter(thread, clockMs, 'timeout')
    clearTimeout(thread.timer)
    thread.timer = setTimeout(() => void this.#checkTime(thread, clockMs - timeoutMs), timeoutMs)
  }

  async #checkTime(thread: Thread, clockMs: number): Promise<void> {
    const { job, worker } = thread
    if (!job) return
    // The engine may not answer before the job ends.
    this.#replaceAfter(thread, clockMs, 'timeout')
    const usedMs = await worker.cpuUsage().then(cpuMsOf, () => Infinity)
    if (thread.job !== job) return
    if (usedMs - thread.cpuMs >= job.work.timeoutMs) await this.#replace(thread, 'timeout')
    else this.#limit(thread, job.work, clockMs)
  }

  #replaceAfter(thread: Thread, milliseconds: number, reason: ThreadFailureReason): void {
    clearTimeout(thread.timer)
    thread.timer = setTimeout(() => void this.#replace(thread, reason), milliseconds)
  }

  /** The engine answers for the thread also while a job keeps it busy. */
  async #checkBuffers(thread: Thread, megabytesMax: number): Promise<void> {
    const { job } = thread
    const memory = await thread.worker.getHeapStatistics().catch(() => null)
    if (memory && thread.job === job && memory.external_memory > megabytesMax * 1024 * 1024)
      await this.#replace(thread, 'out_of_memory')
  }

  #spawn({ isForShort }: Pick<Thread, 'isForShort'>): void {
    const worker = new Worker(new URL('./thread-start.ts', import.meta.url), {
      // A thread needs no secrets from the environment, and none of our flags.
      env: COMPILE_CACHE,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMbMax, maxYoungGenerationSizeMb: 16 },
    })
    const timer = setTimeout(() => void this.#replace(thread, 'crashed'), STARTUP_MS_MAX)
    const idle = { isReady: false, loaded: new Set<string>(), job: null, cpuMs: 0, timer, watch: null }
    const thread: Thread = { worker, isForShort, ...idle }
    this.#threads.add(thread)
    worker.on('message', (news: ThreadNews) => this.#hear(thread, news))
    worker.on('error', (error: NodeJS.ErrnoException) => {
      void this.#replace(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'crashed', error)
    })
    worker.on('exit', () => void this.#replace(thread, 'crashed'))
  }

  #hear(thread: Thread, { kind, cpuMs, output }: ThreadNews): void {
    thread.cpuMs = cpuMs
    if (kind === 'loaded') return thread.job ? this.#limit(thread, thread.job.work) : undefined
    clearTimers(thread)
    if (kind === 'ready') thread.isReady = true
    else thread.job?.resolve(output)
    thread.job = null
    thread.worker.unref()
    this.#dispatch()
  }

  /** Gives a thread up, fails its job, and goes on with the others. */
  async #replace(thread: Thread, reason: ThreadFailureReason, cause?: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return
    clearTimers(thread)
    // A thread that never came up takes one job with it, so that a broken start cannot be tried for ever.
    const job = thread.job ?? (thread.isReady ? null : this.#take(thread))
    job?.reject(new ThreadFailure(reason, cause))
    this.#dispatch()
    await thread.worker.terminate()
  }
}

function clearTimers(thread: Thread): void {
  clearTimeout(thread.timer)
  if (thread.watch) clearInterval(thread.watch)
  thread.watch = null
}

/** Between threads a Buffer becomes a plain array of bytes; its memory is already the receiver's. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** The memory of those that have it for themselves, each once. What is small may lie in memory that others use as well. */
export const ownMemory = (views: readonly Uint8Array[]): ArrayBuffer[] => [
  ...new Set(views.filter(isAlone).map(({ buffer }) => buffer as ArrayBuffer)),
]

const isAlone = ({ buffer, byteLength }: Uint8Array): boolean => byteLength > 0 && byteLength === buffer.byteLength
