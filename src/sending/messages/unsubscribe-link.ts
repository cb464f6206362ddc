// One-click unsubscribe (RFC 8058). A message has one source for all its recipients, so the header is composed with a
// placeholder, and each recipient's own token takes its place when the mail is sent. The token says whom it is for, encrypted:
// mail lies in mailboxes for longer than the metadata of its message is kept.
import { decodeToken } from '../../mail/address/verp.ts'
import { idFromBytes, idToBytes } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'

const PLACEHOLDER = `u-${'x'.repeat(32)}-${'x'.repeat(16)}`

const FIELD = '\r\nList-Unsubscribe:'

export const unsubscribeHeaders = (publicUrl: string): [string, string][] => [
  ['List-Unsubscribe', `<${publicUrl}/unsubscribe/${PLACEHOLDER}>`],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
]

interface Subscription {
  messageId: string
  tenantId: string
  recipient: string
}

/** A copy of the source with this recipient's link. */
export function personalise(source: Buffer, secrets: Secrets, subscription: Subscription): Buffer {
  // Behind the name of the field, which callers cannot write: their own headers may hold the same characters.
  const field = source.indexOf(FIELD)
  const at = field < 0 ? -1 : source.indexOf(PLACEHOLDER, field)
  if (at < 0) return source
  const token = Buffer.from(unsubscribeToken(secrets, subscription))
  return Buffer.concat([source.subarray(0, at), token, source.subarray(at + PLACEHOLDER.length)])
}

const ID_BYTES = 16

/** At most 419 characters: an address has 254 bytes, a line 998 characters, and a parameter of a path 512. */
const unsubscribeToken = (secrets: Secrets, { messageId, tenantId, recipient }: Subscription): string =>
  secrets.sealToken(
    'unsubscribe-link',
    Buffer.concat([idToBytes(messageId), idToBytes(tenantId), Buffer.from(recipient)]),
  )

export function readUnsubscribeToken(secrets: Secrets, token: string): Subscription | null {
  const clear = secrets.openToken('unsubscribe-link', token)
  return (
    clear && {
      messageId: idFromBytes(clear.subarray(0, ID_BYTES)),
      tenantId: idFromBytes(clear.subarray(ID_BYTES, 2 * ID_BYTES)),
      recipient: clear.toString('utf8', 2 * ID_BYTES),
    }
  )
}

/** Tokens of mail from before they said whom they are for: they name a delivery, and mean nothing once it is removed. */
export function readDeliveryToken(secrets: Secrets, token: string): { messageId: string; n: number } | null {
  const read = decodeToken(token, secrets.keyOf('unsubscribe'))
  return read?.kind === 'u' ? { messageId: idFromBytes(read.id), n: read.extra } : null
}
