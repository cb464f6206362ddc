// Reads one message under caps. It runs inside the worker thread, because hostile mail can keep a parser busy for seconds;
// nothing else may call it on the main thread.

import { readDate } from './date.ts'
import { textOfHtml } from '../text/html-text.ts'
import { type BodyPiece, htmlOfBody, readBody } from './body.ts'
import { decodeWords } from './encoded-words.ts'
import { type HeaderField, valueOf, valuesOf } from './headers.ts'
import { parseMailboxes } from './mailbox-list.ts'
import { readParts, TreeLimitExceeded } from './part-tree.ts'
import { MIME_LIMITS, type Mailbox, type ParsedMail, type Refused } from './parsed-mail.ts'

/** The message, or why it was refused. */
export function parseMail(source: Uint8Array<ArrayBuffer>): ParsedMail | Refused {
  if (source.length > MIME_LIMITS.sourceBytesMax) return { kind: 'refused', reason: 'too_large' }
  try {
    const root = readParts(Buffer.from(source.buffer, source.byteOffset, source.length), MIME_LIMITS)
    const { pieces, attachments } = readBody(root, MIME_LIMITS)
    return {
      kind: 'mail',
      ...readEnvelope(root.fields),
      text: textOfBody(pieces),
      html: htmlOfBody(pieces),
      attachments,
    }
  } catch (error) {
    // What no rule foresaw lies in the message too: it fails again however often it is tried.
    return { kind: 'refused', reason: error instanceof TreeLimitExceeded ? error.limit : 'malformed' }
  }
}

/**
 * The plain text, with that of the HTML where a piece has no other. Null when no piece has plain text. A bare CR is a line
 * break too: it is one again in every mail that repeats the text.
 */
function textOfBody(pieces: readonly BodyPiece[]): string | null {
  if (!pieces.some(({ plain }) => plain !== null)) return null
  return pieces
    .map(({ plain, html }) => (plain ?? textOfHtml(html ?? '')).replaceAll(/\r\n?/g, '\n'))
    .join('\n')
    .slice(0, MIME_LIMITS.textCharsMax)
}

type Envelope = Omit<ParsedMail, 'kind' | 'text' | 'html' | 'attachments'>

/** Of a field that may stand once, the first counts. Lists of addresses, authors too, go on in a second field. */
function readEnvelope(headers: HeaderField[]): Envelope {
  const subject = valueOf(headers, 'subject')
  const references = valuesOf(headers, 'references').join(' ').slice(0, MIME_LIMITS.headerBytesMax)
  return {
    headers,
    from: mailboxes(valuesOf(headers, 'from').join(', ')),
    sender: mailboxes(valueOf(headers, 'sender'))[0] ?? null,
    replyTo: mailboxes(valueOf(headers, 'reply-to')),
    to: mailboxes(valuesOf(headers, 'to').join(', ')),
    cc: mailboxes(valuesOf(headers, 'cc').join(', ')),
    subject: subject === null ? null : readSubject(subject),
    messageId: valueOf(headers, 'message-id') || null,
    inReplyTo: valueOf(headers, 'in-reply-to') || null,
    references: references.match(/<[^<>\s]+>/g)?.slice(-MIME_LIMITS.referencesMax) ?? [],
    date: readDate(valueOf(headers, 'date')),
  }
}

/** Cut before it is decoded too: an escape takes twelve characters at the most. */
const readSubject = (value: string): string =>
  decodeWords(value.slice(0, 20 * MIME_LIMITS.subjectCharsMax))
    .replaceAll(/[ \t\r\n]+/g, ' ')
    .trim()
    .slice(0, MIME_LIMITS.subjectCharsMax)
    .toWellFormed()

const mailboxes = (value: string | null): Mailbox[] => parseMailboxes(value ?? '', MIME_LIMITS.mailboxesMax)
