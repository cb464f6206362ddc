// What a message says about itself, held against the limits: subject, texts, tags, metadata.
import { refuse } from '../../platform/refusal.ts'
import * as limits from './limits.ts'
import type { SendRequest } from './send-schema.ts'

export function checkTexts(body: SendRequest): void {
  checkContent(body)
  checkTags(body.tags ?? [])
  checkMetadata(body.metadata ?? {})
}

type Content = { [Field in 'subject' | 'text' | 'html']?: string | null }

/** What a mail says, also one that is not sent yet. */
export function checkContent({ subject, text, html }: Content): void {
  if (subject) {
    // Its characters first: each is a byte at least, and a long text is not worth reading.
    if (subject.length > limits.SUBJECT_BYTES_MAX || Buffer.byteLength(subject) > limits.SUBJECT_BYTES_MAX) {
      throw invalid(`subject is longer than ${limits.SUBJECT_BYTES_MAX} bytes.`)
    }
    if (/[\p{Cc}\u2028\u2029]/u.test(subject))
      throw invalid('subject contains a line break or another control character.')
  }
  if (Buffer.byteLength(text ?? '') + Buffer.byteLength(html ?? '') > limits.TEXT_BYTES_MAX) {
    throw invalid('text and html together are larger than 10 MiB.')
  }
}

export function checkTags(tags: readonly string[]): void {
  if (tags.length > limits.TAGS_MAX) throw invalid(`There are more than ${limits.TAGS_MAX} tags.`)
  for (const tag of tags) {
    if (isLonger(tag, limits.TAG_LENGTH_MAX) || tag.trim() === '' || /\p{Cc}/u.test(tag)) {
      throw invalid(`A tag is blank, longer than ${limits.TAG_LENGTH_MAX} characters or contains control characters.`)
    }
  }
}

/**
 * In characters, as JSON Schema counts them: one outside the basic plane is one, of two code units. What is longer than any
 * permitted text is not counted: 38 MB would take seconds and a gigabyte.
 */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max)

export function checkMetadata(metadata: Readonly<Record<string, string>>): void {
  const pairs = Object.entries(metadata)
  if (pairs.length > limits.METADATA_PAIRS_MAX)
    throw invalid(`metadata has more than ${limits.METADATA_PAIRS_MAX} pairs.`)
  for (const [name, value] of pairs) {
    if (isLonger(name, limits.METADATA_NAME_LENGTH_MAX)) {
      throw invalid(`A metadata name is longer than ${limits.METADATA_NAME_LENGTH_MAX} characters.`)
    }
    if (isLonger(value, limits.METADATA_VALUE_LENGTH_MAX)) {
      throw invalid(`A metadata value is longer than ${limits.METADATA_VALUE_LENGTH_MAX} characters.`)
    }
  }
}

export const invalid = (message: string) => refuse('invalid_message', message)
