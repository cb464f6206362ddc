// Decoding attachments: names that can stand in a header, strict base64, and no more than the limit in all.
import type { Attachment } from '../../mail/mime/attachment.ts'
import { checkContentId } from '../../mail/mime/custom-headers.ts'
import { refuse } from '../../platform/refusal.ts'
import { invalid } from './check-texts.ts'
import type { SendRequest } from './send-schema.ts'
import { ATTACHMENT_BYTES_MAX, FILENAME_CHARS_MAX } from './limits.ts'

type Wanted = NonNullable<SendRequest['attachments']>[number]

export function* decodeAttachments(attachments: readonly Wanted[]): Generator<void, Attachment[]> {
  for (const attachment of attachments) checkNames(attachment)
  let total = 0
  const decoded: Attachment[] = []
  for (const [index, attachment] of attachments.entries()) {
    const size = decodedSize(attachment.content)
    total += size ?? 0
    if (total > ATTACHMENT_BYTES_MAX) {
      throw attachmentsTooLarge()
    }
    const content = size === null ? null : Buffer.from(attachment.content, 'base64')
    // Node skips what is no base64; a decoded length that differs from the announced one shows that it did.
    if (!content || content.length !== size) {
      throw invalid(`attachments[${index}].content is not valid base64.`)
    }
    decoded.push({
      filename: attachment.filename ?? null,
      contentType: attachment.content_type ?? null,
      contentId: attachment.content_id ?? null,
      inline: attachment.inline ?? false,
      content,
    })
    if (size! > SLICE_BYTES) yield
  }
  return decoded
}

function checkNames({ content_id, filename, content_type }: Wanted): void {
  if (Math.max(filename?.length ?? 0, content_type?.length ?? 0) > FILENAME_CHARS_MAX) {
    throw invalid(`filename and content_type must not be longer than ${FILENAME_CHARS_MAX} characters.`)
  }
  const reason = content_id === undefined ? null : checkContentId(content_id)
  if (reason) throw invalid(reason)
  if (/\p{Cc}/u.test(filename ?? '') || /\p{Cc}/u.test(content_type ?? '')) {
    throw invalid('filename and content_type must not contain control characters.')
  }
}

/** About a millisecond. */
const SLICE_BYTES = 1024 * 1024

/** How many bytes the text stands for, white space not allowed; null when its length cannot be base64. */
function decodedSize(text: string): number | null {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (text.length / 4) * 3 - padding
}

export const attachmentsTooLarge = () =>
  refuse('attachments_too_large', 'The attachments are larger than 25 MB together.')
