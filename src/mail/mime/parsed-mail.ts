// A received message as all other code sees it, whatever library read it.

import type { HeaderField } from './headers.ts'

export type Mailbox = { name: string; address: string }

export type ParsedAttachment = {
  filename: string | null
  /** Lower case, without parameters. */
  contentType: string
  /** As they may be written behind it; null where there are none. */
  typeParams: string | null
  /** Without angle brackets. */
  contentId: string | null
  inline: boolean
  content: Buffer
}

export type ParsedMail = {
  kind: 'mail'
  headers: HeaderField[]
  /** Every address of the field: a mail may name several authors, or none. */
  from: Mailbox[]
  sender: Mailbox | null
  replyTo: Mailbox[]
  to: Mailbox[]
  cc: Mailbox[]
  subject: string | null
  /** With angle brackets, as they stand in the header. */
  messageId: string | null
  inReplyTo: string | null
  references: string[]
  date: Date | null
  text: string | null
  html: string | null
  attachments: ParsedAttachment[]
}

/** Why a message was not read. All but the last three lie in the message; those are ours, and worth another try. */
export type RefusedReason =
  | 'too_large'
  | 'too_deep'
  | 'too_many_parts'
  | 'header_too_large'
  | 'malformed'
  | 'timeout'
  | 'crashed'
  | 'busy'
  | 'closed'

export type Refused = { kind: 'refused'; reason: RefusedReason }
