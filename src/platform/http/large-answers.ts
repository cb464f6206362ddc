// A share per account of large answers. Rows, objects and text of a page take milliseconds of the main thread, a request of
// somebody else waits behind each that is under way, and an answer that its reader does not take stays in memory.
import { finished } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Semaphore } from '../fairness/semaphore.ts'
import { refuse } from '../refusal.ts'

const AT_ONCE = { permits: 8, perOwner: 2, waitMsMax: 20_000 }
/** For making the answer and for reading it. A client that takes longer is cut. */
const ANSWER_MS_MAX = 60_000
/** Streamed answers hold one chunk in memory; a hundred megabytes over a slow line take a quarter of an hour. */
const STREAMS_AT_ONCE = { permits: 32, perOwner: 2, waitMsMax: 20_000 }
const STREAM_MS_MAX = 15 * 60_000

/** Pages for anybody are made once and lie in memory already; a reader holds little more than a connection. */
const PAGES_AT_ONCE = { permits: 64, perOwner: 4, waitMsMax: 5_000 }
const PAGE_MS_MAX = 30_000

export class LargeAnswers {
  readonly #permits: Semaphore
  readonly #answerMs: number
  readonly #open = new Set<FastifyReply['raw']>()

  constructor(answerMs: number = ANSWER_MS_MAX, atOnce = AT_ONCE) {
    this.#answerMs = answerMs
    this.#permits = new Semaphore(atOnce)
  }

  /** A share of their own: readers of streams keep nobody from a page of a list. */
  static ofStreams(): LargeAnswers {
    return new LargeAnswers(STREAM_MS_MAX, STREAMS_AT_ONCE)
  }

  /** For strangers, a share for each network: a client that does not read keeps no other network from reading. */
  static ofPages(): LargeAnswers {
    return new LargeAnswers(PAGE_MS_MAX, PAGES_AT_ONCE)
  }

  /** Waits for a permit of the owner, which lasts until the answer has left or its reader is gone. */
  async begin(owner: string, request: FastifyRequest, { raw }: FastifyReply): Promise<void> {
    await this.#permits.acquire(owner, tooMany)
    const timer = setTimeout(() => raw.destroy(), this.#answerMs)
    this.#open.add(raw)
    finished(raw, () => {
      this.#open.delete(raw)
      clearTimeout(timer)
      this.#permits.release(owner)
    })
    // Nobody would read what is made now.
    if (request.raw.socket.destroyed) throw refuse('unavailable', 'The connection was closed.')
  }

  /** When the server closes: answers that are still being read after this long are cut, or nothing else could end. */
  cutAfter(milliseconds: number): void {
    const cut = (): void => {
      for (const raw of this.#open) raw.destroy()
    }
    setTimeout(cut, milliseconds).unref()
  }
}

const tooMany = () =>
  refuse('unavailable', 'Too many large answers are being read already. Try again shortly.', {
    retryAfterSeconds: 5,
  })
