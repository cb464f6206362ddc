// Bounces written for people: qmail, Exim, Exchange and others that send no part for machines. They are brought into
// the fields of RFC 3464, so that one reader serves both.

import { parseAddressOnly } from './address.ts'
import { type HeaderField, readFields, valueOf } from './headers.ts'
import type { ParsedMail } from './parsed-mail.ts'

// The reason stands in the first screen; what follows is the returned message.
const TEXT_CHARS_MAX = 65_536
const RECIPIENTS_MAX = 100

/** The fields that a report about each recipient would have had; empty when the message is no bounce. */
export function readTextBounce(mail: ParsedMail): HeaderField[][] {
  if (!looksLikeBounce(mail)) return []
  const text = (mail.text ?? '').slice(0, TEXT_CHARS_MAX).replaceAll('\r\n', '\n')
  const readers = [fieldsInText, addressParagraphs, exchangeDiagnostics, failedRecipients]
  for (const read of readers) {
    const groups = read(text, mail)
    if (groups.length > 0) return groups.slice(0, RECIPIENTS_MAX)
  }
  return []
}

const DAEMON = /^(?:mailer[-_.]?daemon|postmaster|mail[-_.]?daemon|mdaemon|noreply-?bounce|microsoftexchange\w*)@/i
const BOUNCE_SUBJECT =
  /undeliver|delivery (?:status|failure|has failed|failed)|failure notice|returned mail|mail delivery|delivery report/i

function looksLikeBounce(mail: ParsedMail): boolean {
  // Exim's, which says of itself that it was automatically replied.
  if (valueOf(mail.headers, 'x-failed-recipients') !== null) return true
  // RFC 3834 §5: an answer from a person's mailbox, such as a holiday notice, is no verdict on the delivery.
  if (/^auto-replied/i.test(valueOf(mail.headers, 'auto-submitted') ?? '')) return false
  const fromDaemon = DAEMON.test(mail.from?.address ?? '')
  return fromDaemon || (BOUNCE_SUBJECT.test(mail.subject ?? '') && valueOf(mail.headers, 'return-path') === '<>')
}

/** Fields of RFC 3464 in the middle of ordinary text. */
function fieldsInText(text: string): HeaderField[][] {
  const known = /^[ \t>]*((?:final-recipient|original-recipient|action|status|diagnostic-code|remote-mta)[ \t]*:.*)$/gim
  const lines = [...text.matchAll(known)].map(match => match[1]!)
  const fields = readFields(lines.join('\n'))
  if (valueOf(fields, 'diagnostic-code') === null && valueOf(fields, 'status') === null) return []
  return [[...fields, ...(valueOf(fields, 'action') === null ? verdict(text, fields) : [])]]
}

/** qmail and Postfix: `<address>:`, the reason beside it or below it, then a blank line. */
function addressParagraphs(text: string): HeaderField[][] {
  if (!/this is the (?:qmail-send program|mail system at host)/i.test(text)) return []
  const paragraphs = `${text}\n`.matchAll(/^<([^<>\s]{3,254})>:[ \t]*\n?((?:.+\n){1,20})/gm)
  return [...paragraphs].map(match => recipientFields(match[1]!, match[2]!))
}

/** Exchange: after a heading for administrators, an address on a line and the server's answer on the next. */
function exchangeDiagnostics(text: string): HeaderField[][] {
  const heading = /diagnostic information for administrators:/i.exec(text)
  if (!heading) return []
  const details = text.slice(heading.index, heading.index + 8_192)
  const answers = /^[ \t]*([^\s<>]{3,254})[ \t]*\n[ \t]*(?:(?:remote )?server returned *'?|# *<?)(.{3,500})/gim
  return [...details.matchAll(answers)].map(match => recipientFields(match[1]!, match[2]!))
}

/** Exim, Google and the rest: recipients from their header or none, the reason from the first answer in the text. */
function failedRecipients(text: string, mail: ParsedMail): HeaderField[][] {
  const named = (valueOf(mail.headers, 'x-failed-recipients') ?? '').split(',', RECIPIENTS_MAX)
  const recipients = named.map(name => name.trim()).filter(name => parseAddressOnly(name) !== null)
  const reason = firstAnswer(text)
  if (recipients.length === 0) return reason === null ? [] : [reasonFields(text, reason)]
  return recipients.map(recipient => [
    field('Final-Recipient', recipient),
    ...reasonFields(text, firstAnswer(text.slice(Math.max(text.indexOf(recipient), 0))) ?? reason ?? ''),
  ])
}

function recipientFields(recipient: string, paragraph: string): HeaderField[] {
  return [field('Final-Recipient', recipient), ...reasonFields(paragraph, firstAnswer(paragraph) ?? paragraph)]
}

function reasonFields(text: string, reason: string): HeaderField[] {
  const diagnostic = field('Diagnostic-Code', reason.replaceAll(/\s+/g, ' ').trim())
  return [diagnostic, ...verdict(text, [diagnostic])]
}

/** The first thing in the text that reads like an answer of a server: a code, perhaps an enhanced one, and words. */
function firstAnswer(text: string): string | null {
  const answer = /(?:^|[\s:'"#(])([45]\d\d[ -](?:#?[45]\.\d{1,3}\.\d{1,3})?[^\d\n][^\n]{2,500})/m.exec(text)?.[1]
  return answer?.replace(/['">#\s]+$/, '') ?? null
}

const STILL_TRYING =
  /delayed|still being retried|will (?:continue|keep|be retried)|not yet been delivered|do not need to resend/i

function verdict(text: string, fields: HeaderField[]): HeaderField[] {
  const diagnostic = `${valueOf(fields, 'status') ?? ''} ${valueOf(fields, 'diagnostic-code') ?? ''}`
  const temporary = /(?:^|[\s#(])4(?:\d\d\b|\.\d+\.\d+)/.test(diagnostic)
  const delayed = STILL_TRYING.test(text) || (temporary && !/permanent|giving up|failed/i.test(text))
  return [field('Action', delayed ? 'delayed' : 'failed')]
}

const field = (name: string, value: string): HeaderField => ({ name, lowerName: name.toLowerCase(), value })
