// What an SMTP server here must say about itself: who may come in, for whom it takes mail, and what it does
// with a message. The conversation, the sessions and the listener know nothing else of it.

import type { LoginAttempt } from './login.ts'

/** The peer of one connection. */
export interface SmtpClient {
  /** Of this connection, for logs. */
  readonly id: string
  readonly ip: string
  /** As the client named itself; anything printable. */
  helo: string
  isSecure: boolean
}

export interface ReceivedMail<Login, Recipient> {
  client: Readonly<SmtpClient>
  login: Login | null
  /** The envelope sender, empty for the null sender. */
  from: string
  /** At least one. */
  recipients: readonly Recipient[]
  smtputf8: boolean
  /** The message, once. */
  takeSource: () => Buffer
}

export type Admission<Recipient> = { kind: 'admitted'; recipient: Recipient } | { kind: 'refused'; reply: string }

export interface SmtpDoor<Login, Recipient> {
  /** The name in the greeting. */
  host: string
  /** Of a message, in bytes. */
  sizeMax: number
  recipientsMax: number
  tls: { cert: string; key: string }
  /** Null: nobody need log in, and nobody can. A string is the reply of a refusal. */
  authenticate: ((attempt: LoginAttempt, client: SmtpClient) => Promise<{ login: Login } | string>) | null
  /** Whose login is taken without TLS: this machine's, where nobody can listen. */
  trustsClearText: (ip: string) => boolean
  /** Whose share of connections and memory a session takes once it has logged in: its account. */
  ownerOf?: (login: Login) => string
  /** Of that account: no tenant takes all of its share. */
  tenantOf?: (login: Login) => string
  /** How many connections a network has at other processes, as far as it is known. */
  elsewhere?: (network: string) => number
  /** Whether a transaction may begin; otherwise the reply. */
  mayBegin?: (client: SmtpClient) => string | null
  admit(path: string, client: SmtpClient): Admission<Recipient> | Promise<Admission<Recipient>>
  /** The reply to the message. 250 means that it is kept for good. */
  receive(mail: ReceivedMail<Login, Recipient>): Promise<string>
  /** An error nobody expected; the client gets 451 4.3.0. */
  onFault(error: unknown, client: SmtpClient): void
}

export interface SmtpLimits {
  /** From our reply to the end of the next command. RFC 5321 §4.5.3.2.7 asks for at least 5 minutes. */
  commandMs: number
  /** For a whole message. RFC 5321 §4.5.3.2.5–6. */
  dataMs: number
  handshakeMs: number
  /** A client that sends a message more slowly than this over a whole window is cut. */
  bytesPerSecondMin: number
  slowWindowMs: number
  /** The window while more than half of the connections are taken. */
  slowWindowMsWhileShort: number
  /** How long a session that was told to end may keep its socket. */
  farewellMs: number
  /** How often time is looked at. */
  sweepMs: number
  connectionsMax: number
  connectionsPerAddressMax: number
  /** Of one account, where there are logins; half of them of one tenant. */
  connectionsPerAccountMax: number
  /** Where there are logins: connections that only clients who have logged in may take. */
  connectionsReserved: number
  /** Of messages above 64 KiB, of all sessions together. */
  memoryBytesMax: number
  /** While that memory is short: a client with more than its share that sends nothing for this long is cut. */
  stalledMs: number
  /** How long open transactions may take to end when the server closes. */
  closeMs: number
}

export const SMTP_LIMITS: SmtpLimits = {
  commandMs: 300_000,
  dataMs: 600_000,
  handshakeMs: 30_000,
  bytesPerSecondMin: 1_024,
  // A client may be silent for three minutes inside a message (RFC 5321 §4.5.3.2.5), and is heard as long as nobody else waits.
  slowWindowMs: 180_000,
  slowWindowMsWhileShort: 10_000,
  farewellMs: 5_000,
  sweepMs: 1_000,
  connectionsMax: 2_000,
  connectionsPerAddressMax: 100,
  connectionsPerAccountMax: 500,
  connectionsReserved: 1_000,
  // With the copies on the way to the database, twenty messages of 25 MB at once stay under 600 MB.
  memoryBytesMax: 67_108_864,
  // Five times less than the shorter window of the slowest rate; a lost packet is sent again by then.
  stalledMs: 2_000,
  closeMs: 10_000,
}
