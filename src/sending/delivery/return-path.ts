// The envelope sender of a delivery: an address that names the message and, where it is alone, the recipient, and
// proves that we wrote it. A report to it finds its delivery; a forged one finds nothing.
import { decodeToken, encodeToken } from '../../mail/verp.ts'
import { idFromBytes, idToBytes } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'

/** Several recipients shared the transaction: the report itself must say which it is about. */
const SHARED = 0xffff_ffff

export function returnPath(
  secrets: Secrets,
  messageId: string,
  deliveries: readonly { n: number }[],
  domain: string,
): string {
  const extra = deliveries.length === 1 ? deliveries[0]!.n : SHARED
  return `${encodeToken({ kind: 'b', id: idToBytes(messageId), extra }, secrets.keyOf('return-path'))}@${domain}`
}

/** `n` is null when the report must say whom it is about; the whole is null when the address is not ours. */
export function readReturnPath(secrets: Secrets, local: string): { messageId: string; n: number | null } | null {
  const token = decodeToken(local, secrets.keyOf('return-path'))
  if (!token || (token.kind !== 'b' && token.kind !== 'c')) return null
  return { messageId: idFromBytes(token.id), n: token.extra === SHARED ? null : token.extra }
}
