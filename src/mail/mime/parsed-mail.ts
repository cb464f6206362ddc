// A received message as all other code sees it, whatever library read it.

import type { HeaderField } from './headers.ts'

/** They stand here for the main thread, which knows them and does not load the parser. */
export const MIME_LIMITS = {
  sourceBytesMax: 52_428_800, // 50 MiB: twice our own attachments in base64; decoded copies must fit into 256 MB
  depthMax: 64, // the architecture's caps on levels and parts
  partsMax: 1_000,
  headerBytesMax: 1_048_576, // all headers of all parts; 1,000 parts of 300 bytes and a long trace fit three times
  // What is handed to the main thread is copied there, and may cost it 250 ms at most.
  headerFieldsMax: 2_000, // ten times what the longest trace has
  subjectCharsMax: 2_000, // two lines of a header, RFC 5322 §2.1.1; no longer one is shown or tested for words
  mailboxesMax: 2_000, // per field
  referencesMax: 1_000,
  textCharsMax: 10_485_760, // as much as we would send ourselves; the source keeps the rest
}

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
