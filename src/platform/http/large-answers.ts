// A share per account of large answers. Rows, objects and text of a page take milliseconds of the main thread, a request of
// somebody else waits behind each that is under way, and an answer that its reader does not take stays in memory.
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Semaphore } from '../fairness/semaphore.ts'
import { refuse } from '../refusal.ts'

/**
 * `making`: answers that are being made. `open`: those and the ones that are being read, whose readers may take their time. An
 * owner has so many of both.
 */
interface AnswerLimits {
  making: number
  open: number
  perOwner: number
  waitMsMax: number
}

const ANSWERS: AnswerLimits = { making: 8, open: 64, perOwner: 2, waitMsMax: 20_000 }
/** For making the answer and for reading it. A client that takes longer is cut. */
const ANSWER_MS_MAX = 60_000
/** Streamed answers hold one chunk in memory; a hundred megabytes over a slow line take a quarter of an hour. */
const STREAMS: AnswerLimits = { making: 32, open: 128, perOwner: 2, waitMsMax: 20_000 }
const STREAM_MS_MAX = 15 * 60_000

/** Pages for anybody are made once and lie in memory already; a reader holds little more than a connection. */
const PAGES: AnswerLimits = { making: 64, open: 64, perOwner: 4, waitMsMax: 5_000 }
const PAGE_MS_MAX = 30_000

/** When no more may be open, readers that have taken nothing for so long are cut. */
const STALLED_MS = 3_000
const SWEEP_MS = 1_000

interface OpenAnswer {
  owner: string
  state: 'waiting' | 'being made' | 'being read'
  /** What its reader had taken when it was last looked at, and since when it is no more. */
  taken: number
  since: number
}

export class LargeAnswers {
  readonly #limits: AnswerLimits
  readonly #making: Semaphore
  readonly #reading: Semaphore
  readonly #answerMs: number
  readonly #open = new Map<FastifyReply['raw'], OpenAnswer>()
  #sweeper: NodeJS.Timeout | null = null

  constructor(answerMs: number = ANSWER_MS_MAX, limits = ANSWERS) {
    const { making, open, perOwner, waitMsMax } = limits
    this.#answerMs = answerMs
    this.#limits = limits
    this.#making = new Semaphore({ permits: making, perOwner, waitMsMax })
    this.#reading = new Semaphore({ permits: open, perOwner, waitMsMax })
  }

  /** A share of their own: readers of streams keep nobody from a page of a list. */
  static ofStreams(): LargeAnswers {
    return new LargeAnswers(STREAM_MS_MAX, STREAMS)
  }

  /** For strangers, a share for each network: a client that does not read keeps no other network from reading. */
  static ofPages(): LargeAnswers {
    return new LargeAnswers(PAGE_MS_MAX, PAGES)
  }

  /** Waits until the owner may have one more. It is open until the answer was read or its reader is gone. */
  async begin(owner: string, request: FastifyRequest, { raw }: FastifyReply): Promise<void> {
    await this.#reading.acquire(owner, tooMany)
    const timer = setTimeout(() => raw.destroy(), this.#answerMs)
    const answer: OpenAnswer = { owner, state: 'waiting', taken: 0, since: performance.now() }
    this.#open.set(raw, answer)
    if (this.#open.size >= this.#limits.open) this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    finished(raw, () => {
      this.made(raw)
      this.#open.delete(raw)
      clearTimeout(timer)
      this.#reading.release(owner)
    })
    await this.#making.acquire(owner, tooMany)
    answer.state = 'being made'
    if (!request.raw.socket.destroyed) return
    // Nobody would read what is made now. Where its end was seen already there will be no other word of it.
    if (!this.#open.has(raw)) this.#making.release(owner)
    throw refuse('unavailable', 'The connection was closed.')
  }

  /** The answer is on its way to its reader: the next one may be made. */
  made(raw: FastifyReply['raw']): void {
    const answer = this.#open.get(raw)
    if (answer?.state !== 'being made') return
    answer.state = 'being read'
    this.#making.release(answer.owner)
  }

  #sweep(): void {
    const now = performance.now()
    const isFull = this.#open.size >= this.#limits.open
    for (const [raw, answer] of this.#open) {
      const taken = takenOf(raw)
      if (taken !== answer.taken || answer.state !== 'being read') Object.assign(answer, { taken, since: now })
      else if (isFull && now - answer.since > STALLED_MS) raw.destroy()
    }
    if (isFull || !this.#sweeper) return
    clearInterval(this.#sweeper)
    this.#sweeper = null
  }

  /** When the server closes: answers that are still being read after this long are cut, or nothing else could end. */
  cutAfter(milliseconds: number): void {
    const cut = (): void => {
      for (const raw of this.#open.keys()) raw.destroy()
    }
    setTimeout(cut, milliseconds).unref()
  }
}

const takenOf = ({ socket }: FastifyReply['raw']): number => (socket ? socket.bytesWritten - socket.writableLength : 0)

const tooMany = () =>
  refuse('unavailable', 'Too many large answers are being read already. Try again shortly.', {
    retryAfterSeconds: 5,
  })
