// The model, behind an endpoint that speaks OpenAI's chat protocol: one question, one answer, everything bounded.
import { atOnce, type AtOnce } from '../../platform/fairness/at-once.ts'
import { OperatorHttp, PostFailure, type Answer } from '../../platform/net/operator-http.ts'
import { dialectAfter, FIRST_DIALECT, isAboutSchema, requestBody, type Dialect, type Question } from './dialect.ts'

interface ModelOptions {
  baseUrl: string
  name: string
  apiKey: string | null
  /** For everything that one extraction asks. */
  callMs?: number
  /** How long a call waits for those of its account that are in flight. */
  waitMs?: number
}

export interface ModelAnswer {
  content: string
  /** Null when the provider does not say. */
  tokens: number | null
  /** It reached the limit of the answer. */
  isCut: boolean
}

const CALL_MS_MAX = 60_000
const ANSWER_BYTES_MAX = 1024 * 1024
/** Of one process. A call takes seconds and a few hundred kilobytes; most of the wait is the provider's. */
const CALLS_AT_ONCE = { permits: 32, perOwner: 4, retryAfterSeconds: 5 }
const TOO_MANY = 'Too many extractions of this account are under way.'
const WAIT_MS_MAX = 5_000
/** Providers change, and one that was refused what it has may have been updated. */
const DIALECT_MS_MAX = 600_000

/** There is no answer. `mayHaveUsed`: the provider may have charged for it all the same. */
export class ModelFailure extends Error {
  readonly mayHaveUsed: boolean
  readonly retryAfterSeconds: number

  constructor(message: string, options: { mayHaveUsed: boolean; retryAfterSeconds?: number; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'ModelFailure'
    this.mayHaveUsed = options.mayHaveUsed
    this.retryAfterSeconds = options.retryAfterSeconds ?? RETRY_SECONDS
  }
}

const RETRY_SECONDS = 30

export class Model {
  readonly #options: ModelOptions
  readonly #http = new OperatorHttp({ connections: CALLS_AT_ONCE.permits, answerBytesMax: ANSWER_BYTES_MAX })
  readonly #withPermit: AtOnce
  #learned: { dialect: Dialect; until: number } | null = null
  #hasSchemas = false

  constructor(options: ModelOptions) {
    this.#options = options
    this.#withPermit = atOnce({ ...CALLS_AT_ONCE, refusal: TOO_MANY, waitMsMax: options.waitMs ?? WAIT_MS_MAX })
  }

  /**
   * Acts with one of the owner's calls in flight. The signal is aborted when the time for all of it is over, or when the
   * given one is.
   */
  run<T>(owner: string, given: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#withPermit(owner, async () => {
      const timeout = new AbortController()
      const timer = setTimeout(() => timeout.abort(), this.#options.callMs ?? CALL_MS_MAX)
      try {
        return await act(AbortSignal.any([given, timeout.signal]))
      } finally {
        clearTimeout(timer)
      }
    })
  }

  /** Rejects with a `ModelFailure`. */
  async ask(question: Question, signal: AbortSignal): Promise<ModelAnswer> {
    const known = this.#dialect()
    let dialect = known
    let isLesson = true
    for (;;) {
      const reply = await this.#post(dialect, question, signal)
      if (reply.status >= 200 && reply.status < 300) {
        this.#remember(dialect, isLesson && dialect !== known)
        return readAnswer(reply.text)
      }
      const next = dialectAfter(dialect, reply)
      if (!next) throw refusedBy(reply)
      if (isAboutSchema(reply.text)) isLesson = false
      dialect = next
    }
  }

  /** Cuts what is under way. */
  close(): Promise<void> {
    return this.#http.close()
  }

  #dialect(): Dialect {
    const learned = this.#learned
    return learned && performance.now() < learned.until ? learned.dialect : FIRST_DIALECT
  }

  /** Where a schema was taken once, JSON Schema is there: one caller's odd schema must not take it from the others. */
  #remember(dialect: Dialect, isLesson: boolean): void {
    if (dialect.format === 'json_schema') this.#hasSchemas = true
    const format = this.#hasSchemas ? 'json_schema' : dialect.format
    if (isLesson) this.#learned = { dialect: { ...dialect, format }, until: performance.now() + DIALECT_MS_MAX }
  }

  async #post(dialect: Dialect, question: Question, signal: AbortSignal) {
    const { baseUrl, name, apiKey } = this.#options
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'Sluice',
      ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
    }
    const body = requestBody(name, dialect, question)
    try {
      return await this.#http.post({ url: `${baseUrl}/chat/completions`, headers, body, signal })
    } catch (error) {
      if (!(error instanceof PostFailure)) throw error
      throw new ModelFailure(MESSAGES[error.reason], { mayHaveUsed: error.reason !== 'unreachable', cause: error })
    }
  }
}

const MESSAGES: Record<PostFailure['reason'], string> = {
  unreachable: 'The model cannot be reached. Try again shortly.',
  broken: 'The model broke off its answer. Try again shortly.',
  too_large: 'The answer of the model is too large.',
  aborted: 'The model did not answer in time. Try again shortly.',
}

/** A minute of waiting that a provider asks for is passed on; an hour is not: it may change its mind. */
const RETRY_SECONDS_MAX = 300

/** The text is the provider's and may quote the mail, so nothing of it is shown or logged. */
function refusedBy({ status, retryAfterSeconds: seconds }: Answer): ModelFailure {
  return new ModelFailure('The model does not serve the request. Try again shortly.', {
    mayHaveUsed: false,
    retryAfterSeconds: Math.min(Math.max(seconds ?? RETRY_SECONDS, 1), RETRY_SECONDS_MAX),
    cause: new Error(`the AI endpoint answered ${status}`),
  })
}

interface Completion {
  choices?: { finish_reason?: unknown; message?: { content?: unknown } }[]
  usage?: { total_tokens?: unknown; prompt_tokens?: unknown; completion_tokens?: unknown } | null
}

/** Tool calls are not asked for and not looked at: an answer that has nothing else is an empty one. */
function readAnswer(text: string): ModelAnswer {
  let completion: Completion | null
  try {
    completion = JSON.parse(text) as Completion | null
  } catch (cause) {
    throw new ModelFailure('The answer of the model cannot be read. Try again shortly.', { mayHaveUsed: true, cause })
  }
  const choice = Array.isArray(completion?.choices) ? completion.choices[0] : undefined
  if (typeof choice?.message !== 'object' || choice.message === null)
    throw new ModelFailure('The answer of the model cannot be read. Try again shortly.', { mayHaveUsed: true })
  return {
    content: typeof choice.message.content === 'string' ? choice.message.content : '',
    tokens: tokensOf(completion?.usage),
    isCut: choice.finish_reason === 'length',
  }
}

function tokensOf(usage: Completion['usage']): number | null {
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: completion } = usage ?? {}
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
  if (isCount(total)) return total
  return isCount(prompt) && isCount(completion) ? prompt + completion : null
}
