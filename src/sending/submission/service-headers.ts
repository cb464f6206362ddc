// What a client tells us, and not the recipient, in header fields: tags, metadata and the idempotency key. Checked by
// the same limits as the API's fields, and never sent on.
import { decodeWords } from '../../mail/mime/encoded-words.ts'
import { valuesOf, type HeaderField } from '../../mail/mime/headers.ts'
import { checkMetadata, checkTags, invalid, isLonger } from '../messages/check-texts.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX } from '../messages/limits.ts'

export function readServiceHeaders(fields: readonly HeaderField[]) {
  return { tags: readTags(fields), metadata: readMetadata(fields), idempotencyKey: readIdempotencyKey(fields) }
}

/** Fields of ours, and those that would tell a recipient what is not meant for them. */
export const isPrivateField = (lowerName: string): boolean =>
  lowerName.startsWith('x-service-') ||
  lowerName === 'idempotency-key' ||
  lowerName === 'bcc' ||
  lowerName === 'resent-bcc' ||
  // RFC 5321 §4.4: written by the server that makes the final delivery, so at this point it is a fake.
  lowerName === 'return-path'

function readTags(fields: readonly HeaderField[]): string[] {
  const tags = valuesOf(fields, 'X-Service-Tags')
    .flatMap(value => decodeWords(value).split(','))
    .map(tag => tag.trim())
    .filter(tag => tag !== '')
  checkTags(tags)
  if (!tags.every(isStorable)) throw invalid('X-Service-Tags contains half a character.')
  return [...new Set(tags)]
}

function readMetadata(fields: readonly HeaderField[]): Record<string, string> {
  const [text, ...more] = valuesOf(fields, 'X-Service-Metadata')
  if (text === undefined) return {}
  const metadata = more.length === 0 ? parseObject(decodeWords(text)) : null
  if (!metadata) throw invalid('X-Service-Metadata must be one JSON object whose values are strings.')
  checkMetadata(metadata)
  for (const pair of Object.entries(metadata)) {
    if (!pair.every(isStorable)) throw invalid('X-Service-Metadata contains a NUL or half a character.')
  }
  return metadata
}

function parseObject(text: string): Record<string, string> | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const isPlain = Object.entries(value).every(([name, each]) => typeof each === 'string' && name !== '__proto__')
  return isPlain ? (value as Record<string, string>) : null
}

/** PostgreSQL keeps neither in JSON, and one message it refuses would fail the others that share its transaction. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

function readIdempotencyKey(fields: readonly HeaderField[]): string | null {
  const [key, ...more] = valuesOf(fields, 'Idempotency-Key')
  if (key === undefined) return null
  if (more.length > 0 || key === '' || isLonger(key, IDEMPOTENCY_KEY_CHARS_MAX)) {
    throw invalid(`Idempotency-Key must stand once and have 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} characters.`)
  }
  return key
}
