// One worker thread of the pool: what it has loaded, the job that it does, and the limits of that job. It tells the pool when
// it is free for the next one, and when it has to be replaced.
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker, type Transferable } from 'node:worker_threads'
import { cpuMsOf } from './cpu-time.ts'
import type { ThreadNews, ThreadOrder } from './thread-start.ts'

export interface ThreadLimits {
  /** Of a core's time: threads give way to the main thread, and a busy machine must not make a message too slow to read. */
  timeoutMs: number
  /**
   * What the thread may use outside its heap while it does such a job. The engine's own limit does not cover array buffers,
   * and a library that decompresses may fill the machine with them.
   */
  buffersMbMax?: number
}

export interface AssignedJob {
  owner: string
  isShort: boolean
  /** The module of its kind of work. */
  module: string
  input: unknown
  transfer: readonly Transferable[]
  limits: ThreadLimits
  resolve: (output: unknown) => void
}

export type ReplaceReason = 'timeout' | 'out_of_memory' | 'crashed'

interface PoolThreadOptions {
  /** It does short work only. */
  isForShort: boolean
  heapMbMax: number
  onStarted: () => void
  /** It can take a job. */
  onFree: () => void
  onLoaded: (module: string) => void
  /** It cannot go on. */
  onFailed: (reason: ReplaceReason, cause?: unknown) => void
}

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

export class PoolThread<Job extends AssignedJob> {
  readonly isForShort: boolean
  readonly #options: PoolThreadOptions
  readonly #worker: Worker
  readonly #loaded = new Set<string>()
  /** A module that no job waits for; one that could not be loaded until the thread is replaced. */
  #loadingAhead: string | null = null
  /** What could not be loaded once cannot be loaded here any more. */
  #isSpoilt = false
  #isUp = false
  #isFree = false
  #job: Job | null = null
  /** The time of a core that it had used when it last told of itself. */
  #cpuMs = 0
  #timer: NodeJS.Timeout
  /** Runs while its job has a limit of buffers. */
  #watch: NodeJS.Timeout | undefined

  constructor(options: PoolThreadOptions) {
    this.isForShort = options.isForShort
    this.#options = options
    this.#worker = new Worker(new URL('./thread-start.ts', import.meta.url), {
      // A thread needs no secrets from the environment, and none of our flags.
      env: COMPILE_CACHE,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.heapMbMax, maxYoungGenerationSizeMb: 16 },
    })
    this.#timer = setTimeout(() => options.onFailed('crashed'), STARTUP_MS_MAX)
    this.#worker.on('message', (news: ThreadNews) => this.#hear(news))
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      options.onFailed(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out_of_memory' : 'crashed', error)
    })
    this.#worker.on('exit', () => options.onFailed('crashed'))
  }

  get job(): Job | null {
    return this.#job
  }

  get hasStarted(): boolean {
    return this.#isUp
  }

  get isIdle(): boolean {
    return this.#isFree
  }

  /** It starts, or collects what a job has left. */
  get isSoonIdle(): boolean {
    return !this.#isFree && this.#job === null
  }

  get loadingAhead(): string | null {
    return this.#loadingAhead
  }

  hasLoaded(module: string): boolean {
    return this.#loaded.has(module)
  }

  /** So that the first job of this kind need not wait for it. A job that comes meanwhile does wait. */
  loadAhead(module: string): void {
    this.#loadingAhead = module
    this.#endAfter(STARTUP_MS_MAX)
    this.#send({ kind: 'load', module })
  }

  start(job: Job): void {
    this.#job = job
    this.#isFree = false
    const { module, input, transfer, limits } = job
    // What is to be loaded before it begins does not count.
    if (this.#loaded.has(module) && this.#loadingAhead === null) this.#limit(limits)
    else this.#endAfter(STARTUP_MS_MAX)
    const { buffersMbMax } = limits
    if (buffersMbMax) this.#watch = setInterval(() => void this.#checkBuffers(buffersMbMax), BUFFERS_CHECK_MS)
    this.#worker.ref()
    this.#send({ kind: 'work', module, input }, transfer)
  }

  async terminate(): Promise<void> {
    this.#clearTimers()
    this.#job = null
    // What it still tells must not let the process end before the thread has.
    this.#worker.removeAllListeners('message')
    await this.#worker.terminate()
  }

  #send(order: ThreadOrder, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(order, transfer)
  }

  #hear(news: ThreadNews): void {
    this.#cpuMs = news.cpuMs
    if (news.kind === 'loaded') this.#noteLoaded(news.module)
    else if (news.kind === 'not_loaded') this.#noteNotLoaded()
    else if (news.kind === 'done') this.#finish(news)
    else this.#noteFree()
  }

  #finish({ output, isFree }: { output: unknown; isFree: boolean }): void {
    this.#clearTimers()
    this.#job?.resolve(output)
    this.#job = null
    if (this.#isSpoilt) this.#options.onFailed('crashed')
    else if (isFree) this.#noteFree()
  }

  #noteFree(): void {
    // That of the start.
    this.#clearTimers()
    if (!this.#isUp) this.#options.onStarted()
    this.#isUp = true
    this.#isFree = true
    this.#worker.unref()
    this.#options.onFree()
  }

  #noteLoaded(module: string): void {
    if (this.#loadingAhead === module) this.#loadingAhead = null
    this.#loaded.add(module)
    this.#limitJob()
    this.#options.onLoaded(module)
  }

  /** A job that has come meanwhile is done before the thread is replaced. */
  #noteNotLoaded(): void {
    this.#isSpoilt = true
    if (this.#job) this.#limitJob()
    else this.#options.onFailed('crashed')
  }

  /** A job that needs nothing else begins now. */
  #limitJob(): void {
    if (!this.#job) this.#clearTimers()
    else if (this.#loaded.has(this.#job.module)) this.#limit(this.#job.limits)
  }

  /** The job has its time of a core from now on, and a multiple of it by the clock. */
  #limit({ timeoutMs }: ThreadLimits, clockMs = timeoutMs * CLOCK_FACTOR): void {
    if (clockMs <= timeoutMs) return this.#endAfter(clockMs)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#checkTime(clockMs - timeoutMs), timeoutMs)
  }

  async #checkTime(clockMs: number): Promise<void> {
    const job = this.#job
    if (!job) return
    // The engine may not answer before the job ends.
    this.#endAfter(clockMs)
    const usedMs = await this.#worker.cpuUsage().then(cpuMsOf, () => Infinity)
    if (this.#job !== job) return
    if (usedMs - this.#cpuMs >= job.limits.timeoutMs) this.#options.onFailed('timeout')
    else this.#limit(job.limits, clockMs)
  }

  #endAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#options.onFailed('timeout'), milliseconds)
  }

  /** The engine answers for the thread also while a job keeps it busy. */
  async #checkBuffers(megabytesMax: number): Promise<void> {
    const job = this.#job
    const memory = await this.#worker.getHeapStatistics().catch(() => null)
    if (memory && this.#job === job && memory.external_memory > megabytesMax * 1024 * 1024)
      this.#options.onFailed('out_of_memory')
  }

  #clearTimers(): void {
    clearTimeout(this.#timer)
    clearInterval(this.#watch)
  }
}
