// The header of a message as signatures see it: fields in their order with their raw bytes, and those that cannot be told
// apart by every reader joined to the field above them.
import { fieldSpans, splitSource } from '../mime/headers.ts'
import { trimEndOf } from '../text/trim.ts'

export interface RawField {
  /** Lower case, ASCII only. */
  name: string
  /** As it stands, in latin1, without its last line break. */
  raw: string
}

export interface RawMail {
  source: Buffer
  fields: RawField[]
  /** For each name the indexes of its fields, the lowest last. */
  byName: Map<string, RawField[]>
  bodyStart: number
}

/** A trace of thirty hops with signatures and seals is 60 KB. A header beyond this costs too much, and is not checked. */
const HEADER_BYTES_MAX = 262_144

/** Null when the header is longer than any that is checked. */
export function readRawMail(source: Buffer): RawMail | null {
  const { headerEnd, bodyStart } = splitSource(source)
  if (headerEnd > HEADER_BYTES_MAX) return null
  const block = source.toString('latin1', 0, headerEnd)
  const fields: RawField[] = []
  for (const { start, colon, end } of fieldSpans(block)) {
    const head = block.slice(start, colon)
    // A line that is no field is read differently by different readers. As part of the field above, it can only break a
    // signature, never slip past one.
    if (!FIELD_NAME.test(head) && fields.length > 0)
      fields.at(-1)!.raw += `\r\n${withoutBreak(block.slice(start, end))}`
    else fields.push({ name: trimEndOf(head, ' \t\r\n').toLowerCase(), raw: withoutBreak(block.slice(start, end)) })
  }
  return { source, fields, byName: Map.groupBy(fields, ({ name }) => name), bodyStart }
}

/** RFC 5322 §3.6.8, and the blanks and folds that §4.5.8 still lets stand before the colon. */
const FIELD_NAME = /^[\x21-\x39\x3b-\x7e]+[ \t\r\n]*$/

const withoutBreak = (text: string): string =>
  text.endsWith('\r\n') ? text.slice(0, -2) : text.endsWith('\n') ? text.slice(0, -1) : text

/** What follows the colon. */
export const fieldValue = ({ raw }: RawField): string => raw.slice(raw.indexOf(':') + 1)
