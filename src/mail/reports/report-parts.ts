// What bounce reports and complaint reports have in common: parts that machines read, and the message they are about.

import { parseAddressOnly } from '../address/address.ts'
import { type HeaderField, readFields } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'

// A report that is honest has a few hundred bytes; the original's header some thousand.
const PART_BYTES_MAX = 262_144
const PARTS_MAX = 3

/** The text of every part of one of these types, line breaks as bare LF. */
export function textsOfParts(mail: ParsedMail, contentTypes: readonly string[]): string[] {
  return mail.attachments
    .filter(({ contentType }) => contentTypes.includes(contentType))
    .slice(0, PARTS_MAX)
    .map(({ content }) => content.toString('utf8', 0, PART_BYTES_MAX).replaceAll(/\r\n?/g, '\n'))
}

const ORIGINAL_TYPES = [
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/rfc822-headers',
  'message/global-headers',
]

/** The header of the message that a report is about, empty when the report does not hold it. */
export function originalHeader(mail: ParsedMail): HeaderField[] {
  const [original] = textsOfParts(mail, ORIGINAL_TYPES)
  if (original === undefined) return []
  const source = original.trimStart()
  const end = source.indexOf('\n\n')
  return readFields(end === -1 ? source : source.slice(0, end + 1))
}

/** The address in `rfc822; jane@example.com`, `<jane@example.com>` or a bare form, normalised; null if it is none. */
export function reportedAddress(value: string | null): string | null {
  if (value === null) return null
  const bare = value
    .replace(/^[\w-]{1,20}\s*;/, '')
    .trim()
    .replace(/^<(.*)>$/, '$1')
  return parseAddressOnly(bare)?.address ?? null
}
