// What a feature folder gives to the composition root: endpoints, background loops, a port for SMTP, and its end.
import type { Route } from './http/contract.ts'
import type { Loop } from './loops/loop.ts'
import type { TlsIdentity } from './tls.ts'

export interface Feature {
  routes?: readonly Route[]
  /** Run by processes with the role `worker`. */
  loops?: readonly Loop[]
  smtp?: SmtpDoor
  /** Lets what is under way end, for DRAIN_MS_MAX at the most. The doors are closed and the loops have ended by then. */
  close?(): Promise<void>
}

export interface SmtpDoor {
  /** The port opens in processes with this role. */
  role: 'submission' | 'mx'
  /** Answers with the port. */
  listen(tls: TlsIdentity): Promise<number>
  close(): Promise<void>
}

/** Attempts under way get this long to end when the process is asked to; the leases of the others give them back. */
export const DRAIN_MS_MAX = 8_000
