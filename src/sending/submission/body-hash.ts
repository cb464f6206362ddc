// What makes two submissions over SMTP the same for an idempotency key: the recipients and the message, without what a
// mail program makes anew each time it sends the same thing.
import { createHash } from 'node:crypto'
import type { HeaderField } from '../../mail/headers.ts'
import type { Recipient } from '../messages/submission.ts'

const VOLATILE = new Set(['date', 'message-id', 'received', 'return-path', 'bcc', 'dkim-signature', 'idempotency-key'])

export function bodyHash(
  fields: readonly HeaderField[],
  body: Buffer,
  recipients: readonly Pick<Recipient, 'address'>[],
): Buffer {
  const hash = createHash('sha256')
  const addresses = recipients.map(({ address }) => address).toSorted()
  const text = body.toString('latin1')
  const values = fields.filter(({ lowerName }) => !VOLATILE.has(lowerName))
  const boundary = boundariesOf([...values.map(({ value }) => value), text])
  hash.update(`${JSON.stringify(addresses)}\n`)
  for (const { lowerName, value } of values) {
    hash.update(`${JSON.stringify([lowerName, boundary ? value.split(boundary) : [value]])}\n`)
  }
  for (const piece of boundary ? text.split(boundary) : [text]) hash.update(piece, 'latin1').update('\n')
  return hash.digest()
}

/** More levels than an honest message has; a hostile one only loses its own idempotency. */
const BOUNDARIES_MAX = 16

/** The separators of MIME parts, which most programs draw at random. */
function boundariesOf(texts: readonly string[]): RegExp | null {
  const found = new Set<string>()
  for (const text of texts) {
    for (const match of text.matchAll(/boundary="?([\w'()+,./:=?-]{8,70})(?="|;|\s|$)/gi)) {
      if (found.size < BOUNDARIES_MAX) found.add(match[1]!)
    }
  }
  if (found.size === 0) return null
  // Longest first: one boundary may be the beginning of another.
  const longestFirst = [...found].toSorted((left, right) => right.length - left.length)
  return new RegExp(longestFirst.map(each => each.replaceAll(/\W/g, '\\$&')).join('|'))
}
