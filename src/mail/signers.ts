// RSA signatures off the main thread, on threads that give way. One signature takes milliseconds of a core; at the
// usual priority a few of them keep the thread that accepts mail waiting. Signing has time: accepting has not.
import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

export interface SigningTask {
  id: number
  data: Uint8Array
  key: KeyObject
}

export type SigningAnswer = { id: number; signature: Uint8Array } | { id: number; error: string }

/** A thread holds one task at a time; the usual heap of a thread would be mostly garbage. */
const SMALL = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 2 }

interface Waiting {
  resolve: (signature: Buffer) => void
  reject: (error: Error) => void
}

interface Thread {
  worker: Worker
  waiting: Map<number, Waiting>
}

export class Signers {
  readonly #threads: Thread[] = []
  readonly #threadsMax: number
  #nextId = 0
  #isClosed = false

  constructor(threadsMax: number = availableParallelism()) {
    this.#threadsMax = threadsMax
  }

  /** RSASSA-PKCS1-v1_5 with SHA-256. */
  sign(data: Buffer, key: KeyObject): Promise<Buffer> {
    if (this.#isClosed) return Promise.reject(new Error('the signers are closed'))
    const thread = this.#leastBusy()
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      thread.waiting.set(id, { resolve, reject })
      thread.worker.ref()
      thread.worker.postMessage({ id, data, key } satisfies SigningTask)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }

  #leastBusy(): Thread {
    const idle = this.#threads.find(thread => thread.waiting.size === 0)
    if (idle) return idle
    if (this.#threads.length < this.#threadsMax) return this.#start()
    return this.#threads.reduce((least, thread) => (thread.waiting.size < least.waiting.size ? thread : least))
  }

  #start(): Thread {
    const worker = new Worker(new URL('./sign-worker.ts', import.meta.url), { resourceLimits: SMALL })
    const thread: Thread = { worker, waiting: new Map() }
    worker.on('message', (answer: SigningAnswer) => {
      const waiting = thread.waiting.get(answer.id)
      thread.waiting.delete(answer.id)
      // An idle thread does not keep the process alive.
      if (thread.waiting.size === 0) worker.unref()
      if ('error' in answer) waiting?.reject(new Error(answer.error))
      else waiting?.resolve(Buffer.from(answer.signature.buffer, answer.signature.byteOffset, answer.signature.length))
    })
    const fail = (error: Error): void => {
      this.#threads.splice(this.#threads.indexOf(thread), 1)
      for (const waiting of thread.waiting.values()) waiting.reject(error)
      thread.waiting.clear()
    }
    worker.on('error', fail)
    worker.on('exit', () => this.#threads.includes(thread) && fail(new Error('a signing thread ended')))
    this.#threads.push(thread)
    return thread
  }
}
