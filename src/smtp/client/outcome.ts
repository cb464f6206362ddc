// What a send is given and what it answers, recipient by recipient; and the failure that travels inside the transport
// until it becomes such an answer.
import { formatReply, type SmtpReply } from '../../mail/reports/smtp-reply.ts'

export interface Envelope {
  /** Empty for the null sender of reports (RFC 5321 §4.5.5). */
  mailFrom: string
  /** All at one destination domain. */
  recipients: readonly string[]
  /** Final bytes, DKIM-Signature included; CRLF; not dot-stuffed. */
  source: Buffer
  /** An address or a header needs the SMTPUTF8 extension (RFC 6531). */
  smtputf8: boolean
  /** Refuse clear text. */
  requireTls: boolean
  /** Whose share of all connections it takes; no share without one. */
  owner?: string
  /** Asked when a connection is at hand, right before MAIL: false withholds it, and nothing is said to anybody. */
  mayBegin: (connection: { isClear: boolean }) => Promise<boolean>
}

/** Where a conversation was when it ended. */
export type Phase = 'dns' | 'connect' | 'greeting' | 'hello' | 'tls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'content'

/** `mayBegin` said no. */
interface Withheld {
  kind: 'withheld'
}

/** It stood in line for a connection for too long: others are served, but not as fast as they are sent. */
interface WaitedTooLong {
  kind: 'waited_too_long'
}

export type SendResult = Outcome | Withheld | WaitedTooLong

/** Travels inside the transport until it becomes `WaitedTooLong`. */
export class LineTimeout extends Error {}

export type Outcome =
  | { kind: 'delivered'; reply: SmtpReply; host: string; tls: boolean }
  /**
   * The server said no (4xx or 5xx), or we say it in its place because its extensions make the answer certain. `ofSeveral`:
   * it said so once for several recipients, after it had taken each of them.
   */
  | { kind: 'refused'; reply: SmtpReply; phase: Phase; host: string; ofSeveral?: true }
  /** Nobody said anything usable. `code` is an enhanced status (RFC 3463) where one fits exactly. */
  | { kind: 'fault'; phase: Phase; reason: string; host: string | null; isPermanent: boolean; code?: string }

export interface Timeouts {
  connectMs: number
  greetingMs: number
  /** One command and its reply: EHLO, STARTTLS with its handshake, AUTH, MAIL, RCPT, RSET. */
  commandMs: number
  dataMs: number
  /** From MAIL to the answer to DATA in all, so that a server with many recipients cannot use up each one's time. */
  envelopeMs: number
  /** Each block of a large message. */
  blockMs: number
  /** From the final dot to its answer. */
  contentMs: number
  quitMs: number
  /** The whole HTTPS request for an MTA-STS policy. */
  policyMs: number
  /** Closing waits so long for what a receiver says of a message that it has in whole. */
  closeMs: number
  /** And so long for all others. */
  leaveMs: number
}

// The promises of the service, where it makes them; the rest from RFC 5321 §4.5.3.2 and RFC 8461 §3.3, shortened
// where a waiting sender would lose more than a patient one gains.
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 30_000,
  greetingMs: 60_000,
  commandMs: 60_000,
  dataMs: 120_000,
  envelopeMs: 600_000,
  blockMs: 180_000,
  contentMs: 600_000,
  quitMs: 2_000,
  policyMs: 15_000,
  closeMs: 10_000,
  leaveMs: 1_000,
}

/** The code of a fault where a server refused the token that we logged in with (RFC 4954 §6). */
export const TOKEN_REFUSED = '5.7.8'

interface FailureDetails {
  phase: Phase
  reason: string
  /** What the server said, when it was the server that ended the conversation. */
  reply?: SmtpReply
  isPermanent?: boolean
  code?: string
  /** The peer closed or reset the connection, as opposed to a time-out or nonsense. */
  isClosed?: boolean
}

/** Why a conversation with one host ended early. Never leaves the transport: it becomes an `Outcome`. */
export class Failure extends Error {
  readonly phase: Phase
  readonly reply: SmtpReply | null
  readonly isPermanent: boolean
  readonly code: string | undefined
  readonly isClosed: boolean

  constructor({ phase, reason, reply, isPermanent, code, isClosed }: FailureDetails) {
    super(reason)
    this.phase = phase
    this.reply = reply ?? null
    this.isPermanent = reply ? reply.code >= 500 : (isPermanent ?? false)
    this.code = code
    this.isClosed = isClosed ?? false
  }

  /** The server's own "no" to a step before the message. */
  static ofReply(phase: Phase, reply: SmtpReply): Failure {
    return new Failure({ phase, reply, reason: formatReply(reply) })
  }
}

export function outcomeOf({ phase, reply, message, isPermanent, code }: Failure, host: string | null): Outcome {
  if (reply) return { kind: 'refused', reply, phase, host: host ?? '' }
  const fault = { kind: 'fault', phase, reason: message, host, isPermanent } as const
  return code === undefined ? fault : { ...fault, code }
}
