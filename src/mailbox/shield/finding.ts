// What the shield looks at and what it reports. A finding says what was seen and where, so that a person can check it.
import type { Mailbox } from '../../mail/mime/parsed-mail.ts'

export interface InspectedMail {
  subject: string
  text: string
  /** Sanitised. */
  html: string | null
  /** What the HTML shows where it says something else than the text. */
  htmlText: string
  /** What the HTML hides from a reader but a machine would read. */
  hiddenText: string
  /** What the HTML says in comments and in its title: programs write there, so only instructions count. */
  unshownText?: string
  from: readonly Mailbox[]
  replyTo: readonly Mailbox[]
  to: readonly Mailbox[]
  cc: readonly Mailbox[]
  attachments: readonly InspectedAttachment[]
  /** Text that was taken out of attachments, where it is known already. */
  attachmentTexts?: readonly { name: string; text: string }[]
}

export interface InspectedAttachment {
  /** As the sender wrote it. */
  declaredName: string | null
  filename: string | null
  contentType: string
  /** The first 512 bytes. */
  head: Uint8Array
}

export type FindingKind =
  | 'instructions'
  | 'hidden_text'
  | 'lookalike_sender'
  | 'reply_to_mismatch'
  | 'dangerous_attachment'
  /** The mail could not be read, so nothing is known of what is in it. */
  | 'unreadable'

type Location = 'subject' | 'text' | 'html' | 'hidden' | 'from' | 'reply_to' | 'to' | 'cc' | `attachment:${string}`

export interface Finding {
  kind: FindingKind
  where: Location
  detail: string
}

const DETAIL_CHARS_MAX = 200

/** Control and invisible characters would let a mail forge what the person reads about it. */
export function finding(kind: FindingKind, where: Location, detail: string): Finding {
  return { kind, where, detail: shown(detail, DETAIL_CHARS_MAX) }
}

export function shown(text: string, charsMax: number): string {
  const plain = text
    .slice(0, 4 * charsMax)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\s]+/gu, ' ')
    .trim()
  return plain.length <= charsMax ? plain : `${plain.slice(0, charsMax - 1).toWellFormed()}…`
}
