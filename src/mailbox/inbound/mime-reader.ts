// Reads received messages in worker threads, so that hostile mail costs a thread and never the service: a worker that
// takes too long or dies is replaced, and its message refused. What a report says is found out there too, because its words
// are held against hundreds of patterns.

import { Worker } from 'node:worker_threads'
import { MIME_LIMITS } from '../../mail/mime/parse.ts'
import type { MimeAnswer, MimeOrder } from './mime-thread.ts'
import type { ParsedMail, Refused, RefusedReason } from '../../mail/mime/parsed-mail.ts'
import type { ReadReport } from '../../mail/reports/read-report.ts'

export type MimeReaderOptions = {
  workers?: number
  /** Messages waiting for a worker; beyond it they are refused as `busy`, which is worth another try. */
  queueMax?: number
  timeoutMs?: number
  heapMbMax?: number
}

type Job = { source: Buffer; wanted: MimeOrder['wanted']; resolve: (result: MimeAnswer) => void }
type Slot = { worker: Worker; ready: boolean; job: Job | null; timer: NodeJS.Timeout }

const STARTUP_MS_MAX = 30_000 // loading the parser takes a tenth of a second; a machine under load may need seconds

/** A small pool of parsing threads, started when first needed. An idle pool does not keep the process alive. */
export class MimeReader {
  readonly #workersMax: number
  readonly #queueMax: number
  readonly #timeoutMs: number
  readonly #heapMbMax: number
  readonly #slots = new Set<Slot>()
  readonly #queue: Job[] = []
  #closed = false

  // 5 s and 256 MB in all are the architecture's caps; the bytes of a source and its attachments live outside the heap.
  constructor({ workers = 1, queueMax = 64, timeoutMs = 5_000, heapMbMax = 192 }: MimeReaderOptions = {}) {
    this.#workersMax = workers
    this.#queueMax = queueMax
    this.#timeoutMs = timeoutMs
    this.#heapMbMax = heapMbMax
  }

  /** The message, or why it was refused. The source must not change until then. */
  read(source: Buffer): Promise<ParsedMail | Refused> {
    return this.#run(source, 'mail') as Promise<ParsedMail | Refused>
  }

  /** What the message says about deliveries, or why it was refused. The source must not change until then. */
  readReport(source: Buffer): Promise<ReadReport | Refused> {
    return this.#run(source, 'report') as Promise<ReadReport | Refused>
  }

  /** Stops every thread. What was waiting or being read is refused as `closed`. */
  async close(): Promise<void> {
    this.#closed = true
    for (const job of this.#queue.splice(0)) job.resolve(refused('closed'))
    await Promise.all([...this.#slots].map(slot => this.#drop(slot, 'closed')))
  }

  #run(source: Buffer, wanted: MimeOrder['wanted']): Promise<MimeAnswer> {
    if (this.#closed) return Promise.resolve(refused('closed'))
    if (source.length > MIME_LIMITS.sourceBytesMax) return Promise.resolve(refused('too_large'))
    if (this.#queue.length >= this.#queueMax) return Promise.resolve(refused('busy'))
    return new Promise(resolve => {
      this.#queue.push({ source, wanted, resolve })
      this.#dispatch()
    })
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (!slot.ready || slot.job) continue
      const job = this.#queue.shift()
      if (!job) return
      this.#start(slot, job)
    }
    const starting = [...this.#slots].filter(slot => !slot.ready).length
    if (this.#queue.length > starting && this.#slots.size < this.#workersMax && !this.#closed) this.#spawn()
  }

  #start(slot: Slot, job: Job): void {
    slot.job = job
    slot.timer = setTimeout(() => void this.#drop(slot, 'timeout'), this.#timeoutMs)
    slot.worker.ref()
    // A copy of its own is handed over: the source may be a slice of memory that others use.
    const copy = new Uint8Array(job.source)
    slot.worker.postMessage({ source: copy, wanted: job.wanted } satisfies MimeOrder, [copy.buffer])
  }

  #spawn(): void {
    const worker = new Worker(new URL('./mime-thread.ts', import.meta.url), {
      // The parser needs no secrets from the environment, and none of our flags.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMbMax, maxYoungGenerationSizeMb: 16 },
    })
    const timer = setTimeout(() => void this.#drop(slot, 'crashed'), STARTUP_MS_MAX)
    const slot: Slot = { worker, ready: false, job: null, timer }
    this.#slots.add(slot)
    worker.on('message', (message: 'ready' | MimeAnswer) => this.#answer(slot, message))
    worker.on('error', (error: NodeJS.ErrnoException) => {
      void this.#drop(slot, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'too_large' : 'crashed')
    })
    worker.on('exit', () => void this.#drop(slot, 'crashed'))
  }

  #answer(slot: Slot, message: 'ready' | MimeAnswer): void {
    clearTimeout(slot.timer)
    if (message === 'ready') slot.ready = true
    else slot.job?.resolve(message.kind === 'mail' ? withBuffers(message) : message)
    slot.job = null
    slot.worker.unref()
    this.#dispatch()
  }

  /** Gives a thread up, refuses what it was reading, and goes on with the others. */
  async #drop(slot: Slot, reason: RefusedReason): Promise<void> {
    if (!this.#slots.delete(slot)) return
    clearTimeout(slot.timer)
    // A thread that never came up takes one message with it, so that a broken start cannot be tried for ever.
    const job = slot.job ?? (slot.ready ? null : (this.#queue.shift() ?? null))
    job?.resolve(refused(reason))
    this.#dispatch()
    await slot.worker.terminate()
  }
}

const refused = (reason: RefusedReason): Refused => ({ kind: 'refused', reason })

/** Between threads a Buffer becomes a plain array of bytes; its memory is already ours. */
function withBuffers(mail: ParsedMail): ParsedMail {
  for (const attachment of mail.attachments) {
    const { buffer, byteOffset, byteLength } = attachment.content
    attachment.content = Buffer.from(buffer, byteOffset, byteLength)
  }
  return mail
}
