// One-click unsubscribe (RFC 8058). A message has one source for all its recipients, so the header is composed with a
// placeholder of the token's length, and each recipient's own token is written over it when the mail is sent.
import { decodeToken, encodeToken } from '../../mail/address/verp.ts'
import { idFromBytes, idToBytes } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'

const PLACEHOLDER = `u-${'x'.repeat(32)}-${'x'.repeat(16)}`

const FIELD = '\r\nList-Unsubscribe:'

export const unsubscribeHeaders = (publicUrl: string): [string, string][] => [
  ['List-Unsubscribe', `<${publicUrl}/unsubscribe/${PLACEHOLDER}>`],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
]

interface DeliveryRef {
  messageId: string
  n: number
}

/** A copy of the source with this recipient's link. */
export function personalise(source: Buffer, secrets: Secrets, { messageId, n }: DeliveryRef): Buffer {
  // Behind the name of the field, which callers cannot write: their own headers may hold the same characters.
  const field = source.indexOf(FIELD)
  const at = field < 0 ? -1 : source.indexOf(PLACEHOLDER, field)
  if (at < 0) return source
  const copy = Buffer.from(source)
  copy.write(encodeToken({ kind: 'u', id: idToBytes(messageId), extra: n }, secrets.keyOf('unsubscribe')), at, 'latin1')
  return copy
}

export function readUnsubscribeToken(secrets: Secrets, token: string): DeliveryRef | null {
  const read = decodeToken(token, secrets.keyOf('unsubscribe'))
  return read?.kind === 'u' ? { messageId: idFromBytes(read.id), n: read.extra } : null
}
