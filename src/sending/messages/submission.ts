// A submission: a message that somebody wants sent, checked and composed but not yet accepted. Every door (API, SMTP,
// mailboxes) makes one, and the one gate takes it.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { AuditDraft } from '../../platform/journal/append.ts'
import type { SendResponse } from './send-schema.ts'

export type RecipientKind = 'to' | 'cc' | 'bcc'

export interface Recipient {
  address: string
  domain: string
  kind: RecipientKind
}

export interface Submission {
  messageId: string
  accountId: string
  tenantId: string
  apiKeyId: string | null
  credentialId: string | null
  /** Address and domain of From. */
  sender: string
  senderDomain: string
  fromHeader: string
  /** Normalised, without duplicates. */
  recipients: readonly Recipient[]
  subject: string | null
  rfcMessageId: string
  tags: readonly string[]
  metadata: Readonly<Record<string, string>>
  source: Buffer
  needsSmtputf8: boolean
  /** The source has a placeholder for each recipient's own unsubscribe link. */
  hasUnsubscribe: boolean
  idempotency: { key: string; bodyHash: Buffer } | null
  by: Actor
  /**
   * The inbox through whose provider it leaves, unsigned and with the sender as return path. The grant of the mailbox is the
   * proof that the sender may be used.
   */
  relayInboxId?: string | null
  /** The refusal of an earlier try of the same mail: the same one again is no new event. */
  refusedBefore?: string | null
  /** Rows of its door that are stored with it. */
  companion?: Companion
}

/** What a door wants stored in the transaction that accepts its submission, and not otherwise. */
export interface Companion {
  /** What its rows belong to. Keys are locked in their order, so that no two batches wait for each other. */
  lockKey: string
  keeper: CompanionKeeper
  /** What its rows cost the database, in recipients. */
  cost: number
  /** Its door stores the source, under the id of the message, and lends it to delivery: it is no body besides. */
  keepsSource?: boolean
  /** What the audit entry is about, where that is not the message. */
  target?: AuditDraft['target']
  /** What its door answers, set by `store`: kept with the idempotency key, because the rows may be deleted before it ends. */
  result?: object | null
}

/** One for each kind of companion. */
export interface CompanionKeeper {
  /** Locks their keys; where it does not wait, without those that another transaction has locked. */
  lock(tx: Tx, companions: readonly Companion[], options: { waits: boolean }): Promise<LockedCompanions>
}

export interface LockedCompanions {
  isLocked(companion: Companion): boolean
  /**
   * Asked of each submission that nothing else stands against, in their order. `keep`: its door keeps it, and nothing is
   * sent; it is answered with this id as the id of a message.
   */
  admit(companion: Companion): { kind: 'send' } | { kind: 'keep'; id: string } | { kind: 'refuse'; refusal: Error }
  store(tx: Tx, stored: readonly StoredCompanion[]): Promise<void>
}

export interface StoredCompanion {
  companion: Companion
  response: SendResponse
  /** Nothing is sent. */
  isKept: boolean
}
