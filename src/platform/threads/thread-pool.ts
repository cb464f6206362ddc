// The worker threads of the process, for work that must not occupy the main thread. Each job has limits of time and memory, a
// thread that exceeds them is replaced, and accounts are served round robin. One pool for every kind of work: a thread
// costs tens of megabytes, and hardly ever are all kinds busy. One more thread is kept for short work, so that it never waits
// for long work of others. The first thread starts when it is needed. Starting one and loading the module of a kind of work
// takes up to half a second on a busy machine: while all threads do long work the next one starts, and an idle one loads what
// others have needed, so that no caller waits for either. An idle pool does not keep the process alive.
import type { Transferable } from 'node:worker_threads'
import { RoundRobin } from '../fairness/round-robin.ts'
import { PoolThread, type AssignedJob, type ReplaceReason, type ThreadLimits } from './pool-thread.ts'

interface ThreadPoolOptions {
  /** For work of any length, besides the one for short work. */
  threads?: number
  heapMbMax?: number
}

/** One kind of work. */
export interface ThreadWork extends ThreadLimits {
  /** The module that does it: it exports `work`, a `Work`. */
  module: URL
  /** Jobs of one owner, or one part of it, that wait for a thread; beyond it they fail as `busy`, worth another try. */
  queueMax: number
  /** Callers wait for it: once it was needed, threads load its module ahead. Each module takes megabytes in each of them. */
  isAwaited?: boolean
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

type ThreadFailureReason = ReplaceReason | 'busy' | 'closed'

export class ThreadFailure extends Error {
  readonly reason: ThreadFailureReason

  constructor(reason: ThreadFailureReason, cause?: unknown) {
    super(`a thread could not do its job: ${reason}`, { cause })
    this.name = 'ThreadFailure'
    this.reason = reason
  }
}

interface Job extends AssignedJob {
  reject: (failure: ThreadFailure) => void
}

type Thread = PoolThread<Job>

/** One account has at most two of them. */
const THREADS = 3
/** Mail of this size, made to be slow, takes half a second of a core; JSON and what is submitted take less. */
export const SHORT_BYTES_MAX = 512 * 1024
/** The text of a body of 40 MB, what is parsed from it and the copy that is posted back. Sources live outside the heap. */
const HEAP_MB_MAX = 320

export class ThreadPool {
  readonly #threadsMax: number
  readonly #heapMbMax: number
  readonly #threads = new Set<Thread>()
  readonly #short = new RoundRobin<Job>()
  readonly #long = new RoundRobin<Job>()
  /** Modules of work that callers wait for, and those of them that could be loaded. */
  readonly #awaited = new Set<string>()
  readonly #loadable = new Set<string>()
  /** False after one that did not come up: the next one starts when a job waits, which fails with it. */
  #mayStartAhead = true
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
    const { href: module } = work.module
    const path = [owner, ...(part === undefined ? [] : [part]), module]
    const waiting = this.#short.lengthOf(path) + this.#long.lengthOf(path)
    if (waiting >= work.queueMax) return Promise.reject(new ThreadFailure('busy'))
    if (work.isAwaited) this.#awaited.add(module)
    return new Promise<Out>((resolve, reject) => {
      const isShort = bytes <= SHORT_BYTES_MAX
      const queue = isShort ? this.#short : this.#long
      const told = { resolve: resolve as Job['resolve'], reject }
      queue.push({ owner, isShort, module, input, transfer, limits: work, ...told }, path)
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
    // The thread for short work is there for when the others are busy; one that loads something comes last.
    for (const isLoading of [false, true])
      for (const isForShort of [false, true]) this.#assign({ isForShort }, { isLoading })
    if (this.#isClosed) return
    this.#spawnMissing()
    this.#loadAhead()
  }

  #assign(kind: Pick<Thread, 'isForShort'>, { isLoading }: { isLoading: boolean }): void {
    const isMeant = (thread: Thread): boolean =>
      thread.isIdle && thread.isForShort === kind.isForShort && (thread.loadingAhead !== null) === isLoading
    const idle = new Set([...this.#threads].filter(isMeant))
    while (idle.size > 0) {
      const job = this.#take(kind)
      if (!job) return
      const [first] = idle
      const thread = [...idle].find(each => each.hasLoaded(job.module)) ?? first!
      idle.delete(thread)
      thread.start(job)
    }
  }

  #spawnMissing(): void {
    const forAny = [...this.#threads].filter(thread => !thread.isForShort)
    // Behind a short job one need not wait long.
    const areTaken = forAny.length > 0 && forAny.every(({ job }) => job && !job.isShort)
    const isAhead = areTaken && this.#mayStartAhead
    if (forAny.length < this.#threadsMax) {
      const soonIdle = forAny.filter(thread => thread.isSoonIdle).length
      if (isAhead || this.#short.length + this.#long.length > soonIdle) this.#spawn({ isForShort: false })
    } else if (forAny.length === this.#threads.size && (isAhead || (areTaken && this.#short.length > 0))) {
      this.#spawn({ isForShort: true })
    }
  }

  /** One module at a time: threads that load together would keep everybody else waiting. */
  #loadAhead(): void {
    const threads = [...this.#threads]
    if (threads.some(thread => thread.loadingAhead !== null)) return
    for (const thread of threads.filter(({ isIdle }) => isIdle)) {
      const module = [...this.#loadable].find(each => !thread.hasLoaded(each))
      if (module !== undefined) return thread.loadAhead(module)
    }
  }

  /**
   * The next job for the thread, removed from its queue. An owner has all but one of the threads for work of any length, and
   * that for short work only while it has no other. Short and long work are taken in turn: neither keeps the other waiting.
   */
  #take({ isForShort }: Pick<Thread, 'isForShort'>): Job | undefined {
    const running = new Map<string, number>()
    for (const { job } of this.#threads) if (job) running.set(job.owner, (running.get(job.owner) ?? 0) + 1)
    if (isForShort) return this.#short.take(undefined, owner => !running.has(owner))
    const ownMax = Math.max(1, this.#threadsMax - 1)
    const mayServe = (owner: string): boolean => (running.get(owner) ?? 0) < ownMax
    this.#wasShort = !this.#wasShort
    const [first, second] = this.#wasShort ? [this.#short, this.#long] : [this.#long, this.#short]
    return first.take(undefined, mayServe) ?? second.take(undefined, mayServe)
  }

  #spawn(kind: Pick<Thread, 'isForShort'>): void {
    try {
      this.#threads.add(this.#newThread(kind))
    } catch (error) {
      // The system has none to give.
      this.#noteNotStarted(kind)?.reject(new ThreadFailure('crashed', error))
      if (this.#threads.size === 0) this.#dispatch()
    }
  }

  #newThread({ isForShort }: Pick<Thread, 'isForShort'>): Thread {
    const thread: Thread = new PoolThread({
      isForShort,
      heapMbMax: this.#heapMbMax,
      onStarted: () => void (this.#mayStartAhead = true),
      onFree: () => this.#dispatch(),
      onLoaded: module => {
        if (this.#awaited.has(module)) this.#loadable.add(module)
        this.#loadAhead()
      },
      onFailed: (reason, cause) => void this.#replace(thread, reason, cause),
    })
    return thread
  }

  /** The job that it takes with it, so that a broken start cannot be tried for ever. */
  #noteNotStarted(kind: Pick<Thread, 'isForShort'>): Job | undefined {
    this.#mayStartAhead = false
    return this.#take(kind)
  }

  /** Gives a thread up, fails its job, and goes on with the others. */
  async #replace(thread: Thread, reason: ThreadFailureReason, cause?: unknown): Promise<void> {
    if (!this.#threads.delete(thread)) return
    // What may have broken it is loaded again where a job needs it.
    if (thread.loadingAhead !== null) this.#loadable.delete(thread.loadingAhead)
    const job = thread.hasStarted ? thread.job : this.#noteNotStarted(thread)
    job?.reject(new ThreadFailure(reason, cause))
    const isEnded = thread.terminate()
    this.#dispatch()
    await isEnded
  }
}

/** Between threads a Buffer becomes a plain array of bytes; its memory is already the receiver's. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** The memory of those that have it for themselves, each once. What is small may lie in memory that others use as well. */
export const ownMemory = (views: readonly Uint8Array[]): ArrayBuffer[] => [
  ...new Set(views.filter(isAlone).map(({ buffer }) => buffer as ArrayBuffer)),
]

const isAlone = ({ buffer, byteLength }: Uint8Array): boolean => byteLength > 0 && byteLength === buffer.byteLength
