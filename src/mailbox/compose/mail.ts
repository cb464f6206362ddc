// A composed mail as its mailbox keeps it: what is stored with the submission that carries it, or with the approval that it
// waits for.
import { createHash } from 'node:crypto'
import { parseAddress } from '../../mail/address/address.ts'
import { mailboxText } from '../../mail/address/mailbox-text.ts'
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { Submission } from '../../sending/messages/submission.ts'
import { PARTICIPANTS_MAX } from '../threads/subject-key.ts'
import { isOwnAddress } from '../inboxes/addresses.ts'
import { ADDRESSES_KEPT_MAX } from '../messages/kept-addresses.ts'
import type { Shield } from '../messages/message-schema.ts'
import type { Inspected } from './inspect.ts'
import type { Original } from './original.ts'
import type { Written } from './write.ts'

export interface ContinuedThread {
  id: string
  subject: string
  isTainted: boolean
}

export interface ComposedMail {
  /** Of the message in the mailbox. */
  id: string
  /** The id of its message, which delivery finds it by. One that waits for an approval is sent as another message. */
  sourceId: string
  at: Date
  submission: Submission
  written: Written
  inspected: Inspected
  files: readonly Attachment[]
  original: Original | null
  /** Of a reply whose original was deleted: the thread that it continues where that still has a message. */
  thread: ContinuedThread | null
  /** As it was when the mail was written. */
  continuesTainted: boolean
  /** What `observe` found. */
  shield: Shield | null
}

/** As people read them: encoded names are for headers. */
export const listed = (addresses: readonly string[]): string[] =>
  addresses.slice(0, ADDRESSES_KEPT_MAX).flatMap(text => {
    const address = parseAddress(text)
    return address ? [mailboxText(address)] : []
  })

/** Who takes part besides the inbox, in lower case. */
export function participantsOf({ submission, original }: ComposedMail, ownAddresses: readonly string[]): string[] {
  // Who gets a copy in secret takes no part in the conversation.
  const visible = submission.recipients.filter(({ kind }) => kind !== 'bcc').map(({ address }) => address.toLowerCase())
  const before = original?.from.map(({ address }) => address.toLowerCase()) ?? []
  const others = [...new Set([...visible, ...before])].filter(address => !isOwnAddress(address, ownAddresses))
  return others.slice(0, PARTICIPANTS_MAX)
}

export type Envelope = ReturnType<typeof envelopeOf>

/** All that a submission carries besides its source. */
export const envelopeOf = (submission: Submission) => ({
  sender: submission.sender,
  senderDomain: submission.senderDomain,
  fromHeader: submission.fromHeader,
  recipients: submission.recipients.map(({ address, domain, kind }) => ({ address, domain, kind })),
  subject: submission.subject,
  rfcMessageId: submission.rfcMessageId,
  needsSmtputf8: submission.needsSmtputf8,
  relayInboxId: submission.relayInboxId ?? null,
})

/** What an approval is bound to: who gets it, from whom, and every byte of it. */
export function contentHash(envelope: Envelope, source: Buffer): Buffer {
  const { sender, recipients, subject, rfcMessageId, fromHeader } = envelope
  const named = recipients.map(({ address, kind }) => [kind, address])
  const head = JSON.stringify([sender, fromHeader, named, subject, rfcMessageId])
  return createHash('sha256').update(head).update('\n').update(source).digest()
}

/** At acceptance: every recipient may be held by a pause, or suppressed. */
export const statusOf = ({ queued, held }: { queued: number; held: number }): 'queued' | 'held' | 'suppressed' =>
  queued > 0 ? 'queued' : held > 0 ? 'held' : 'suppressed'
