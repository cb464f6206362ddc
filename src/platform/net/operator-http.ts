// One POST to an address that the operator has configured: it may be on this machine or in a private network. No redirect is
// followed, the answer is read up to a bound, and the caller's signal ends all of it.
import type { Dispatcher } from 'undici'
import { Agent, requestOver } from './http-agent.ts'

interface OperatorHttpOptions {
  /** Connections at once. */
  connections: number
  answerBytesMax: number
}

interface Post {
  url: string
  headers: Record<string, string>
  body: string
  /** Holds the deadline too: there is no other one but that of connecting. */
  signal: AbortSignal
}

export interface Answer {
  status: number
  /** Of the header `Retry-After`, where it is a number. */
  retryAfterSeconds: number | null
  text: string
}

/**
 * Why there is no answer. `unreachable`: no byte of the request has left. `broken`, `too_large` and `aborted`: it may have
 * been served all the same.
 */
type PostFailureReason = 'unreachable' | 'broken' | 'too_large' | 'aborted'

export class PostFailure extends Error {
  readonly reason: PostFailureReason

  constructor(reason: PostFailureReason, cause?: unknown) {
    super(`no answer to a POST: ${reason}`, { cause })
    this.name = 'PostFailure'
    this.reason = reason
  }
}

const CONNECT_MS_MAX = 10_000

export class OperatorHttp {
  readonly #agent: Agent
  readonly #answerBytesMax: number

  constructor({ connections, answerBytesMax }: OperatorHttpOptions) {
    this.#answerBytesMax = answerBytesMax
    this.#agent = new Agent({
      connect: { timeout: CONNECT_MS_MAX },
      allowH2: false,
      connections,
      // A connection per request. One that the server closes while a request is under way to it would look like a request
      // that was served and not answered.
      pipelining: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Rejects with a `PostFailure`. */
  async post({ url, headers, body, signal }: Post): Promise<Answer> {
    if (signal.aborted) throw new PostFailure('unreachable')
    const { origin, pathname, search } = new URL(url)
    const options = { origin, path: pathname + search, method: 'POST', headers, body, signal } as const
    const answer = await requestOver(this.#agent, options).catch((error: unknown) => {
      throw failureOf(error, signal)
    })
    const retryAfter = String(answer.headers['retry-after'])
    return {
      status: answer.statusCode,
      retryAfterSeconds: /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null,
      text: await this.#read(answer.body, signal),
    }
  }

  /** Cuts what is under way. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #read(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<string> {
    const chunks: Buffer[] = []
    let bytes = 0
    try {
      for await (const chunk of body) {
        chunks.push(chunk as Buffer)
        bytes += (chunk as Buffer).length
        // Leaving the loop destroys the body, and the connection with it.
        if (bytes > this.#answerBytesMax) throw new PostFailure('too_large')
      }
    } catch (error) {
      throw error instanceof PostFailure ? error : failureOf(error, signal)
    }
    return Buffer.concat(chunks).toString()
  }
}

/** What the system and the library say when no connection came to be. */
const UNREACHABLE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|UNABLE_TO_\w+|ERR_SSL_\w+|\w*CERT\w*)$/

function failureOf(error: unknown, signal: AbortSignal): PostFailure {
  if (signal.aborted) return new PostFailure('aborted', error)
  const { code = '' } = error as NodeJS.ErrnoException
  return new PostFailure(UNREACHABLE.test(code) ? 'unreachable' : 'broken', error)
}
