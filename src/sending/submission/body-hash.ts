// What makes two submissions over SMTP the same for an idempotency key: the recipients and the message, without what a
// mail program makes anew each time it sends the same thing.
import { createHash } from 'node:crypto'
import type { HeaderField } from '../../mail/mime/headers.ts'
import type { Recipient } from '../messages/submission.ts'

const VOLATILE = new Set(['date', 'message-id', 'received', 'return-path', 'bcc', 'dkim-signature', 'idempotency-key'])

/** Of what the header holds and says of the body; of a large message only the beginning says how it is divided. */
const SEARCHED_BYTES = 65_536
/** More than an honest message has. A hostile one loses its own idempotency and nobody's time. */
const BOUNDARIES_MAX = 16
const SEPARATORS_MAX = 5_000

export function bodyHash(
  fields: readonly HeaderField[],
  body: Buffer,
  recipients: readonly Pick<Recipient, 'address'>[],
): Buffer {
  const lasting = fields
    .filter(({ lowerName }) => !VOLATILE.has(lowerName))
    .map(({ lowerName, value }) => `${lowerName}:${value}\n`)
  const header = Buffer.from(
    `${recipients
      .map(({ address }) => `${address}\n`)
      .toSorted()
      .join('')}\n${lasting.join('')}\n`,
  )
  const boundaries = boundariesIn(
    `${header.toString('latin1', 0, SEARCHED_BYTES)}\n${body.toString('latin1', 0, SEARCHED_BYTES)}`,
  )
  const hash = createHash('sha256')
  for (const bytes of [header, body]) {
    let start = 0
    for (const separator of separatorsIn(bytes, boundaries)) {
      if (separator.start < start) continue
      hash.update(bytes.subarray(start, separator.start)).update('\0')
      start = separator.end
    }
    hash.update(bytes.subarray(start)).update('\0')
  }
  return hash.digest()
}

/** The separators of MIME parts, which most programs draw at random. */
function boundariesIn(text: string): string[] {
  const found = new Set<string>()
  for (const match of text.matchAll(/boundary="?([\w'()+,./:=?-]{8,70})(?="|;|\s|$)/gi)) {
    if (found.size === BOUNDARIES_MAX) break
    found.add(match[1]!)
  }
  return [...found]
}

function separatorsIn(bytes: Buffer, boundaries: readonly string[]): { start: number; end: number }[] {
  const separators: { start: number; end: number }[] = []
  for (const boundary of boundaries) {
    for (let at = bytes.indexOf(boundary); at !== -1; at = bytes.indexOf(boundary, at + boundary.length)) {
      if (separators.length === SEPARATORS_MAX) break
      separators.push({ start: at, end: at + boundary.length })
    }
  }
  // One boundary may be the beginning of another: the longer one comes first.
  return separators.toSorted((left, right) => left.start - right.start || right.end - left.end)
}
