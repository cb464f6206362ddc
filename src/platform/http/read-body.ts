// Reads the body of a request: no larger than its endpoint takes, charged to the caller's account as it arrives, and not
// slower than anybody sending in earnest. A body that finds no memory free waits unread.
import type { Readable } from 'node:stream'
import { DataRate } from '../fairness/data-rate.ts'
import { InflowBudget, type Inflow } from '../fairness/inflow-budget.ts'
import { refuse, type Refusal } from '../refusal.ts'

/** A body costs about four times its size until it is answered (bytes, text, values, what is made of them). */
const BODIES_BYTES_MAX = 64 * 1024 * 1024
/** Most bodies are smaller and need not ask for memory. */
const FREE_BYTES = 16 * 1024
/** A body that brings less than this over a whole window is given up: the line is dead, or somebody keeps memory. */
const BYTES_PER_SECOND_MIN = 1_024
const SLOW_WINDOW_MS = 10_000
const SWEEP_MS = 1_000
/** While memory is short, a caller with more than its share that sends nothing for this long is refused. */
const STALLED_MS = 2_000
/** Most bodies fit into what their first chunk reserves. */
const BELIEVED_BYTES_MAX = 64 * 1024
/** What a larger body grows by. */
const STEP_BYTES = 256 * 1024

interface BodyOptions {
  stream: Readable
  bytesMax: number
  /** Null when it is not announced (chunked). */
  announcedBytes: number | null
  /** Whose share of the memory the body takes. */
  owner: string
  tenant?: string
}

/** What was read, and its memory, which the caller gives back when nothing of the body is in memory any more. */
interface ReadBody {
  bytes: Buffer
  release: () => void
}

export class BodyReader {
  readonly #budget: InflowBudget
  readonly #reading = new Set<Reading>()
  readonly #slowWindowMs: number
  #sweeper: NodeJS.Timeout | null = null

  constructor({ bytesMax = BODIES_BYTES_MAX, slowWindowMs = SLOW_WINDOW_MS, stalledMs = STALLED_MS } = {}) {
    this.#budget = new InflowBudget(bytesMax, { stalledMs })
    this.#slowWindowMs = slowWindowMs
  }

  /** Rejects with the refusal. */
  async read(options: BodyOptions): Promise<ReadBody> {
    const { announcedBytes, bytesMax } = options
    if (announcedBytes !== null && announcedBytes > bytesMax) throw tooLarge()
    const reading = new Reading(options, this.#budget)
    this.#reading.add(reading)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    try {
      return await reading.whole
    } finally {
      this.#reading.delete(reading)
    }
  }

  #sweep(): void {
    const now = performance.now()
    for (const reading of this.#reading) reading.giveUpIfSlow(now, this.#slowWindowMs)
    this.#budget.relieve()
    if (this.#reading.size > 0 || !this.#sweeper) return
    clearInterval(this.#sweeper)
    this.#sweeper = null
  }
}

class Reading {
  readonly #options: BodyOptions
  readonly #inflow: Inflow
  readonly whole: Promise<ReadBody>
  /** One buffer that grows: a chunk costs hundreds of bytes of its own, and the sender chooses how small they are. */
  #body: Buffer = NOTHING
  /** Of a body that has grown large. */
  #memory: ArrayBuffer | null = null
  #bytes = 0
  readonly #rate = new DataRate({ bytesPerSecondMin: BYTES_PER_SECOND_MIN })
  #end: (result: ReadBody | Refusal) => void = () => {}

  constructor(options: BodyOptions, budget: InflowBudget) {
    const { stream, owner, tenant = '' } = options
    this.#options = options
    this.#rate.begin(performance.now())
    const connection = {
      resume: () => {
        this.#rate.begin(performance.now())
        stream.resume()
      },
      drop: () => this.#end(refuse('unavailable', 'Memory is short. Send the body again shortly.', RETRY)),
    }
    this.#inflow = budget.open({ owner, tenant }, connection)
    this.whole = new Promise((resolve, reject) => {
      const onData = (chunk: Buffer): void => this.#take(chunk)
      const onEnd = (): void => this.#finish()
      const onGone = (): void => this.#end(refuse('invalid_request', 'The body did not arrive whole.'))
      this.#end = result => {
        stream.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone)
        // Without a listener an error of the connection would be thrown.
        stream.on('error', () => {})
        this.#body = NOTHING
        this.#memory = null
        this.#end = () => {}
        if (!(result instanceof Error)) return resolve(result)
        this.#inflow.release()
        reject(result)
      }
      stream.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone)
      stream.resume()
    })
  }

  /** Waiting for memory is our doing and not counted. */
  giveUpIfSlow(now: number, windowMs: number): void {
    if (this.#inflow.isWaiting || !this.#rate.isTooSlow(now, windowMs)) return
    this.#end(refuse('invalid_request', 'The body came too slowly.'))
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#rate.add(chunk.length)
    if (this.#bytes > this.#options.bytesMax) return this.#end(tooLarge())
    this.#keep(chunk)
    if (this.#bytes <= FREE_BYTES) return
    if (!this.#inflow.grow(this.#body.length - this.#inflow.bytes)) this.#options.stream.pause()
  }

  /** In memory of its own, which can be given to another thread. What is announced is believed up to a point. */
  #keep(chunk: Buffer): void {
    const before = this.#bytes - chunk.length
    // Nearly all bodies: they come in one piece, are read at once and forgotten.
    if (before === 0 && chunk.length === this.#options.announcedBytes && chunk.length <= FREE_BYTES) {
      this.#body = chunk
      return
    }
    if (this.#bytes > this.#body.length) this.#body = this.#grown(before)
    chunk.copy(this.#body, before)
  }

  /**
   * A large body grows in place: the address space of the whole is reserved, and memory taken as bytes come. To copy what
   * has come into ever larger buffers would keep every caller waiting, for the copies and for the collections they cause.
   */
  #grown(before: number): Buffer {
    const { announcedBytes, bytesMax } = this.#options
    if (this.#bytes <= BELIEVED_BYTES_MAX) {
      const expected = Math.min(announcedBytes ?? 0, BELIEVED_BYTES_MAX)
      return this.#copied(Buffer.allocUnsafeSlow(Math.max(this.#bytes, expected, this.#body.length * 2)), before)
    }
    const wholeBytes = Math.max(Math.min(announcedBytes ?? bytesMax, bytesMax), this.#bytes)
    const capacity = Math.min(this.#bytes + STEP_BYTES, wholeBytes)
    if (this.#memory) {
      this.#memory.resize(capacity)
      return Buffer.from(this.#memory, 0, capacity)
    }
    this.#memory = new ArrayBuffer(capacity, { maxByteLength: wholeBytes })
    return this.#copied(Buffer.from(this.#memory, 0, capacity), before)
  }

  #copied(larger: Buffer, before: number): Buffer {
    this.#body.copy(larger, 0, 0, before)
    return larger
  }

  #finish(): void {
    const { announcedBytes } = this.#options
    if (announcedBytes !== null && announcedBytes !== this.#bytes) {
      return this.#end(refuse('invalid_request', 'The body does not have the length that Content-Length says.'))
    }
    const inflow = this.#inflow
    inflow.finish()
    this.#end({ bytes: this.#body.subarray(0, this.#bytes), release: () => inflow.release() })
  }
}

const NOTHING = Buffer.alloc(0)
/** By then the bodies that keep memory short have been given up for their slowness. */
const RETRY = { retryAfterSeconds: SLOW_WINDOW_MS / 1_000 }

const tooLarge = (): Refusal => refuse('payload_too_large', 'The body is too large.')
