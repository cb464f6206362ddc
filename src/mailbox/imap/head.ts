// What is known of a message at the provider before its source is fetched, and how it is recognised when it comes back under
// another UID.
import { createHash } from 'node:crypto'
import type { FetchMessageObject } from 'imapflow'
import { readFields, valueOf } from '../../mail/mime/headers.ts'
import { MESSAGE_ID_CHARS_MAX, messageIdIn } from '../../mail/mime/message-id.ts'

export interface Head {
  uid: number
  size: number
  isRead: boolean
  /** When the provider received it. */
  receivedAt: Date
  /** With angle brackets. */
  messageId: string | null
  identity: Buffer
}

/** Of the one field that is fetched: folded, with words beside the id. */
const HEADER_BYTES_MAX = 4 * MESSAGE_ID_CHARS_MAX
const SIZE_MAX = 2 ** 31 - 1

export function headOf({ uid, size, flags, internalDate, headers }: FetchMessageObject): Head {
  const messageId = messageIdOf(headers ?? Buffer.alloc(0))
  const receivedAt = dateOf(internalDate)
  const head = {
    uid,
    size: Math.min(size ?? 0, SIZE_MAX),
    isRead: flags?.has('\\Seen') ?? false,
    receivedAt,
    messageId,
  }
  return { ...head, identity: identityOf(head) }
}

/** The same that the references of threads are kept under. */
const identityOf = ({ messageId, receivedAt, size }: Omit<Head, 'identity' | 'uid' | 'isRead'>): Buffer =>
  createHash('sha256')
    .update(messageId ?? `${receivedAt.toISOString()} ${size}`)
    .digest()
    .subarray(0, 16)

const messageIdOf = (header: Buffer): string | null =>
  messageIdIn(valueOf(readFields(header.toString('utf8', 0, HEADER_BYTES_MAX)), 'message-id') ?? '')

/** To the second, as IMAP has it. A date that is none, or that no id can hold, is the first. */
function dateOf(given: Date | string | undefined): Date {
  const time = new Date(given ?? 0).getTime()
  return new Date(Number.isFinite(time) ? Math.max(0, time) : 0)
}
