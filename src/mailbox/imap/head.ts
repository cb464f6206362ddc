// What is known of a message at the provider before its source is fetched, and how it is recognised when it comes back under
// another UID.
import { createHash } from 'node:crypto'
import type { FetchMessageObject } from 'imapflow'
import { readFields, valueOf } from '../../mail/mime/headers.ts'

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

const MESSAGE_ID_CHARS_MAX = 998 // a line, RFC 5322 §2.1.1
const SIZE_MAX = 2 ** 31 - 1

export function headOf({ uid, size, flags, internalDate, headers }: FetchMessageObject): Head {
  const messageId = messageIdIn(headers ?? Buffer.alloc(0))
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

function messageIdIn(header: Buffer): string | null {
  const value = valueOf(readFields(header.toString('utf8', 0, 4 * MESSAGE_ID_CHARS_MAX)), 'message-id') ?? ''
  const bare = /^\s*([^<>\s]+)\s*$/.exec(value)?.[1]
  const id = /<[^<>\s]+>/.exec(value)?.[0] ?? (bare === undefined ? null : `<${bare}>`)
  return id !== null && id.length <= MESSAGE_ID_CHARS_MAX ? id : null
}

/** To the second, as IMAP has it. A date that is none, or that no id can hold, is the first. */
function dateOf(given: Date | string | undefined): Date {
  const time = new Date(given ?? 0).getTime()
  return new Date(Number.isFinite(time) ? Math.max(0, time) : 0)
}
