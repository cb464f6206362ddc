// What an SMTP client is told when the answer is no: the refusal's codes from the one catalogue, its sentence on one
// line.
import { catalogue, Refusal } from '../../platform/refusal.ts'

/** A "no" that only SMTP knows, as a whole reply. */
export class SmtpRefusal extends Error {
  readonly reply: string

  constructor(reply: string) {
    super(reply)
    this.name = 'SmtpRefusal'
    this.reply = reply
  }
}

/** RFC 5321 §4.5.3.1.5: a reply line has at most 512 octets. */
const REPLY_CHARS_MAX = 500

/** The reply to a refusal; null for an error that is none, which is the server's own affair. */
export function replyFor(error: unknown): string | null {
  if (error instanceof SmtpRefusal) return oneLine(error.reply)
  if (error instanceof Refusal) return oneLine(`${catalogue[error.code].smtp} ${error.message}`)
  return null
}

const oneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .replaceAll(/[^ -~]/gu, '?')
    .slice(0, REPLY_CHARS_MAX)
