// How large a message is, and whether that is small, for every door that sends.
import type { Attachment } from '../../mail/mime/attachment.ts'
import { SMALL_BYTES_MAX, SMALL_RECIPIENTS_MAX } from './limits.ts'
import type { SendRequest } from './send-schema.ts'

/** What an attachment counts besides its content and its name. */
const ATTACHMENT_BYTES_EACH = 1_000

type Content = Pick<SendRequest, 'subject' | 'text' | 'html' | 'attachments'>

/** About: characters count as bytes, and attachments as they were sent. */
export function bytesOf({ subject, text, html, attachments = [] }: Content, files: readonly Attachment[] = []): number {
  let bytes = (subject?.length ?? 0) + (text?.length ?? 0) + (html?.length ?? 0)
  for (const { content, filename } of [...attachments, ...files]) {
    bytes += content.length + (filename?.length ?? 0) + ATTACHMENT_BYTES_EACH
  }
  return bytes
}

export const recipientCount = ({ to, cc = [], bcc = [] }: Pick<SendRequest, 'to' | 'cc' | 'bcc'>): number =>
  to.length + cc.length + bcc.length

export const isSmall = (body: SendRequest, files: readonly Attachment[] = []): boolean =>
  bytesOf(body, files) <= SMALL_BYTES_MAX && recipientCount(body) <= SMALL_RECIPIENTS_MAX
