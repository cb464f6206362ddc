// A refusal is a "no" that the caller can act on. One catalogue says what each code means over HTTP and over SMTP.

interface Meaning {
  status: number
  /** Reply when the same refusal meets an SMTP client: basic code and enhanced code (RFC 3463). */
  smtp: `${number} ${number}.${number}.${number}`
}

export const catalogue = {
  invalid_request: { status: 400, smtp: '550 5.6.0' },
  invalid_json: { status: 400, smtp: '550 5.6.0' },
  unauthorized: { status: 401, smtp: '535 5.7.8' },
  key_expired: { status: 401, smtp: '535 5.7.8' },
  forbidden: { status: 403, smtp: '550 5.7.1' },
  insufficient_scope: { status: 403, smtp: '550 5.7.1' },
  ip_not_allowed: { status: 403, smtp: '535 5.7.8' },
  sending_suspended: { status: 403, smtp: '451 4.7.1' },
  recipient_not_allowed: { status: 403, smtp: '550 5.7.1' },
  ai_not_enabled: { status: 403, smtp: '550 5.7.1' },
  inbox_paused: { status: 403, smtp: '450 4.2.1' },
  tenant_disabled: { status: 403, smtp: '550 5.7.1' },
  not_found: { status: 404, smtp: '550 5.1.1' },
  method_not_allowed: { status: 405, smtp: '502 5.5.1' },
  conflict: { status: 409, smtp: '550 5.5.0' },
  duplicate_external_id: { status: 409, smtp: '550 5.5.0' },
  mx_not_verified: { status: 409, smtp: '550 5.5.0' },
  folder_exists: { status: 409, smtp: '550 5.5.0' },
  folder_not_empty: { status: 409, smtp: '550 5.5.0' },
  already_decided: { status: 409, smtp: '550 5.5.0' },
  plan_not_purchasable: { status: 409, smtp: '550 5.5.0' },
  no_payment_customer: { status: 409, smtp: '550 5.5.0' },
  idempotency_conflict: { status: 409, smtp: '550 5.5.0' },
  payload_too_large: { status: 413, smtp: '552 5.3.4' },
  range_not_satisfiable: { status: 416, smtp: '550 5.5.0' },
  invalid_message: { status: 422, smtp: '550 5.6.0' },
  domain_not_verified: { status: 422, smtp: '550 5.7.1' },
  too_many_recipients: { status: 422, smtp: '550 5.5.3' },
  attachments_too_large: { status: 422, smtp: '552 5.3.4' },
  rate_limited: { status: 429, smtp: '452 4.7.1' },
  quota_exceeded: { status: 429, smtp: '452 4.7.1' },
  too_many_streams: { status: 429, smtp: '452 4.7.1' },
  ai_token_cap: { status: 429, smtp: '452 4.7.1' },
  unavailable: { status: 503, smtp: '451 4.3.0' },
  not_configured: { status: 503, smtp: '451 4.3.0' },
} as const satisfies Record<string, Meaning>

export type RefusalCode = keyof typeof catalogue

interface RefusalOptions {
  retryAfterSeconds?: number
  headers?: Readonly<Record<string, string>>
  cause?: unknown
}

export class Refusal extends Error {
  readonly code: RefusalCode
  readonly retryAfterSeconds: number | null
  /** Of the answer, where a status goes with one. */
  readonly headers: Readonly<Record<string, string>>

  constructor(code: RefusalCode, message: string, options: RefusalOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'Refusal'
    this.code = code
    this.headers = options.headers ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }

  get status(): number {
    return catalogue[this.code].status
  }
}

export const refuse = (code: RefusalCode, message: string, options?: RefusalOptions): Refusal =>
  new Refusal(code, message, options)

/** The one wording of "no such thing": another tenant's object must answer exactly as an id that never was. */
export const notFound = (noun: string): Refusal => new Refusal('not_found', `No such ${noun}.`)

/** Behind `??`, where what was looked for must be there. */
export function missing(noun: string): never {
  throw notFound(noun)
}
