// A submission: a message that somebody wants sent, checked and composed but not yet accepted. Every door (API, SMTP)
// makes one, and the one gate takes it.
import type { Actor } from '../../platform/db/actor.ts'

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
  /** The source holds a place for each recipient's own unsubscribe link. */
  hasUnsubscribe: boolean
  idempotency: { key: string; bodyHash: Buffer } | null
  by: Actor
}
