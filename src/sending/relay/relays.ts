// Mail of connected mailboxes leaves through their provider. Delivery knows the way by what the mailbox half lends it.
import type { Relay } from '../../smtp/client/transport.ts'

/** How mail of a mailbox leaves now. */
export type WayOut =
  | { kind: 'open'; relay: Relay }
  /** Not now; the reason is for the sender of the mail. */
  | { kind: 'closed'; reason: string }
  /** Never: the mailbox is no longer the one that the mail was written from. */
  | { kind: 'ended'; reason: string }

export interface Relays {
  wayOut(inboxId: string, sender: string): Promise<WayOut>
  /** The provider refused this token: the next way out has another. */
  refused(inboxId: string, accessToken: string): Promise<void>
}

/** Nothing is sent, and never will be. */
export interface Cancelled {
  kind: 'cancelled'
  reason: string
}

export const DISCONNECTED = 'The mailbox was disconnected before the message was sent.'
