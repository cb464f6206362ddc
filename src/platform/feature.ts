// What a feature folder gives to the composition root: endpoints, background workers, a port for SMTP, and its end.
import type { Route } from './http/contract.ts'
import type { TlsIdentity } from './tls.ts'
import type { Worker } from './work/worker.ts'

export interface Feature {
  routes?: readonly Route[]
  /** Run by processes with the role `worker`. */
  workers?: readonly Worker[]
  smtp?: SmtpPort
  /**
   * Lets attempts of leased work end, for REQUEST_MS_MAX at the most. When all features have drained, requests over
   * `world.http` that are left are cut.
   */
  drain?(): Promise<void>
  /**
   * Lets what is under way end and be recorded: within DRAIN_MS_MAX, or RECORD_MS_MAX after `requestsEnd`, which is when no
   * request is left. Called together with `drain`; the doors are closed and the workers have ended by then.
   */
  close?(requestsEnd: Promise<void>): Promise<void>
}

export interface SmtpPort {
  /** The port opens in processes with this role. */
  role: 'submission' | 'mx'
  /** Answers with the port. */
  listen(tls: TlsIdentity): Promise<number>
  close(): Promise<void>
}

/** Attempts under way get this long to end when the process is asked to; the leases of the others give them back. */
export const DRAIN_MS_MAX = 8_000
/** The last part of it is for recording the requests that are cut then. */
export const RECORD_MS_MAX = 2_000
export const REQUEST_MS_MAX = DRAIN_MS_MAX - RECORD_MS_MAX
