// The envelope sender of a delivery: an address that names the message and the recipient, or the transaction that several
// recipients share, and proves that we wrote it. A report to it finds its delivery; a forged or an old one finds nothing.
import { decodeToken, encodeToken } from '../../mail/address/verp.ts'
import { idFromBytes, idToBytes, timeOfId } from '../../platform/ids.ts'
import type { Secrets } from '../../platform/secrets.ts'

/** `b`: the return path of one recipient. `s`: of a transaction. `c`: where one recipient's complaints go to. */
type Kind = 'b' | 's' | 'c'

/** Of older return paths that recipients shared: bound to the message and to nobody in it. */
const ANYBODY = 0xffff_ffff

/** Bounces come within days and complaints within weeks. What is older says nothing about an address any more. */
const LIFETIME_MS = 90 * 86_400_000

/** What is on the envelope: one recipient by number, or the transaction of several. */
export type OnEnvelope = { n: number } | { envelope: number }

export function returnPath(secrets: Secrets, messageId: string, on: OnEnvelope, domain: string): string {
  const kind: Kind = 'n' in on ? 'b' : 's'
  const extra = 'n' in on ? on.n : on.envelope
  return `${encodeToken({ kind, id: idToBytes(messageId), extra }, secrets.keyOf('return-path'))}@${domain}`
}

export interface ReadReturnPath {
  kind: 'bounce' | 'complaint'
  messageId: string
  /** Null when recipients shared it: the report must say whom it is about. */
  n: number | null
  /** The transaction that they shared; null when the recipient is alone, or where any of the message may be meant. */
  envelope: number | null
}

/** Null when the address is not ours, or is no longer. */
export function readReturnPath(secrets: Secrets, local: string, now: Date): ReadReturnPath | null {
  const token = decodeToken(local, secrets.keyOf('return-path'))
  if (!token || !isKind(token.kind)) return null
  const messageId = idFromBytes(token.id)
  if (now.getTime() - timeOfId(messageId).getTime() > LIFETIME_MS) return null
  const isAlone = token.kind !== 's' && token.extra !== ANYBODY
  return {
    kind: token.kind === 'c' ? 'complaint' : 'bounce',
    messageId,
    n: isAlone ? token.extra : null,
    envelope: token.kind === 's' ? token.extra : null,
  }
}

const isKind = (kind: string): kind is Kind => kind === 'b' || kind === 's' || kind === 'c'
