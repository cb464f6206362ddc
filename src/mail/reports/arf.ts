// Reads complaint reports: the Abuse Reporting Format of RFC 5965, and the older kind that is only the message itself
// sent back, as Microsoft's JMRP does it. Receivers often hide the recipient; our own return path then tells who.

import { isIP } from 'node:net'
import { type HeaderField, readFields, valueOf, valuesOf } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'
import { originalHeader, reportedAddress, textsOfParts } from './report-parts.ts'

export type ArfReport = {
  /** `abuse`, `fraud`, `virus`, `other`, `not-spam`, …; in lower case. */
  feedbackType: string
  /** As far as the receiver reveals them. */
  originalRecipients: string[]
  /** The envelope sender of our message, which carries our token. */
  originalMailFrom: string | null
  arrivalDate: Date | null
  sourceIp: string | null
  /** Message-ID of the original, with its angle brackets. */
  messageId: string | null
  /** Return-Path of the original, without brackets. */
  returnPath: string | null
  /** The header of the original, for marks of our own. */
  originalHeader: HeaderField[]
}

const TEXT_CHARS_MAX = 16_384 // a report in plain text has its fields at the beginning
const RECIPIENTS_MAX = 100 // our messages are sent to one recipient at a time

/** The complaint in a message, or null when it is none. */
export function readArf(mail: ParsedMail): ArfReport | null {
  const original = originalHeader(mail)
  const fields = reportFields(mail, original)
  if (!fields) return null
  return {
    feedbackType: feedbackTypeOf(fields),
    originalRecipients: recipientsOf(mail, fields, original),
    originalMailFrom: reportedAddress(valueOf(fields, 'original-mail-from')),
    arrivalDate: readDate(valueOf(fields, 'arrival-date') ?? valueOf(fields, 'received-date')),
    sourceIp: addressIn(valueOf(fields, 'source-ip')),
    messageId: MESSAGE_ID.exec(valueOf(original, 'message-id') ?? '')?.[0] ?? null,
    returnPath: reportedAddress(valueOf(original, 'return-path')),
    originalHeader: original,
  }
}

/** A word by RFC 5965 §3.5, which goes into events and rows: whatever else stands there was not meant for them. */
function feedbackTypeOf(fields: readonly HeaderField[]): string {
  const type = valueOf(fields, 'feedback-type')?.toLowerCase() || 'abuse'
  return /^[a-z0-9][a-z0-9-]{0,39}(?![a-z0-9-])/.exec(type)?.[0] ?? 'other'
}

const addressIn = (value: string | null): string | null =>
  value !== null && isIP(value.trim()) !== 0 ? value.trim() : null

// RFC 5322 §2.1.1: no line is longer. Neither blanks nor control characters are part of an id.
const MESSAGE_ID = /<[^<>\s\p{Cc}]{1,996}>/u

/** The fields of the report: from its part, from plain text, or none at all where the message alone was sent back. */
function reportFields(mail: ParsedMail, original: HeaderField[]): HeaderField[] | null {
  const [report] = textsOfParts(mail, ['message/feedback-report'])
  if (report !== undefined) return readFields(report.trimStart().replaceAll(/\n[ \t]*\n/g, '\n'))
  const text = (mail.text ?? '').slice(0, TEXT_CHARS_MAX)
  const lines = text.match(
    /^(?:feedback-type|original-(?:mail-from|rcpt-to)|arrival-date|source-ip|user-agent)[ \t]*:.*$/gim,
  )
  if (lines && valueOf(readFields(lines.join('\n')), 'feedback-type') !== null) return readFields(lines.join('\n'))
  return isReturnedComplaint(mail, original) ? [] : null
}

function isReturnedComplaint(mail: ParsedMail, original: HeaderField[]): boolean {
  if (original.length === 0) return false
  if (jmrpRecipient(mail, original) !== null) return true
  return /^complaint about message from /i.test(mail.subject ?? '')
}

const jmrpRecipient = (mail: ParsedMail, original: HeaderField[]): string | null =>
  valueOf(original, 'x-hmxmroriginalrecipient') ?? valueOf(mail.headers, 'x-hmxmroriginalrecipient')

function recipientsOf(mail: ParsedMail, fields: HeaderField[], original: HeaderField[]): string[] {
  const named = [...valuesOf(fields, 'original-rcpt-to'), ...valuesOf(fields, 'removal-recipient')]
  const jmrp = jmrpRecipient(mail, original)
  if (jmrp !== null) named.push(jmrp)
  const addresses = named.slice(0, RECIPIENTS_MAX).flatMap(name => reportedAddress(name) ?? [])
  return [...new Set(addresses)]
}

function readDate(value: string | null): Date | null {
  const date = new Date(value ?? '')
  return Number.isNaN(date.getTime()) ? null : date
}
