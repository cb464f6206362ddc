// RSA signatures off the main thread, on threads that give way. One signature takes milliseconds of a core; at the
// usual priority a few of them keep the thread that accepts mail waiting. Signing has time: accepting has not.
// What waits is signed by the handful: mail that is ready together shares the transactions on its way, and one signed on
// its own would pay for them alone, several times the price of its signature.
import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { asBuffer } from '../../platform/threads/thread-pool.ts'

export interface SigningTask {
  data: Uint8Array
  key: KeyObject
}

/** One per task, in the same order. */
export type SigningAnswer = { signature: Uint8Array } | { error: string }

/** About as many as one host is offered connections: more would not travel together. */
const HANDFUL_MAX = 16
/** A thread holds one handful at a time; the usual heap of a thread would be mostly garbage. */
const SMALL = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2 }

interface Waiting extends SigningTask {
  resolve: (signature: Buffer) => void
  reject: (error: Error) => void
}

interface Thread {
  worker: Worker
  handful: Waiting[]
}

export class Signers {
  readonly #threads: Thread[] = []
  readonly #threadsMax: number
  #waiting: Waiting[] = []
  #isClosed = false

  constructor(threadsMax: number = availableParallelism()) {
    this.#threadsMax = threadsMax
  }

  /** RSASSA-PKCS1-v1_5 with SHA-256. */
  sign(data: Buffer, key: KeyObject): Promise<Buffer> {
    if (this.#isClosed) return Promise.reject(new Error('the signers are closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ data, key, resolve, reject })
      const thread = this.#idle()
      if (thread) this.#hand(thread)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the signers are closed'))
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }

  #idle(): Thread | null {
    const idle = this.#threads.find(thread => thread.handful.length === 0)
    if (idle) return idle
    return this.#threads.length < this.#threadsMax ? this.#start() : null
  }

  #hand(thread: Thread): void {
    thread.handful = this.#waiting.splice(0, HANDFUL_MAX)
    // An idle thread does not keep the process alive.
    if (thread.handful.length === 0) return thread.worker.unref()
    thread.worker.ref()
    thread.worker.postMessage(thread.handful.map(({ data, key }): SigningTask => ({ data, key })))
  }

  #start(): Thread {
    const worker = new Worker(new URL('./sign-thread.ts', import.meta.url), { resourceLimits: SMALL })
    const thread: Thread = { worker, handful: [] }
    worker.on('message', (answers: SigningAnswer[]) => {
      const { handful } = thread
      this.#hand(thread)
      for (const [index, answer] of answers.entries()) {
        if ('error' in answer) handful[index]!.reject(new Error(answer.error))
        else handful[index]!.resolve(asBuffer(answer.signature))
      }
    })
    const fail = (error: Error): void => {
      this.#threads.splice(this.#threads.indexOf(thread), 1)
      for (const { reject } of thread.handful.splice(0)) reject(error)
      const next = this.#waiting.length > 0 && !this.#isClosed ? this.#idle() : null
      if (next) this.#hand(next)
    }
    worker.on('error', fail)
    worker.on('exit', () => this.#threads.includes(thread) && fail(new Error('a signing thread ended')))
    this.#threads.push(thread)
    return thread
  }
}
