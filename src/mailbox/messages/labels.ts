// Labels of messages and threads: free words of the caller's.
import { Type } from '../../platform/http/type.ts'
import { refuse } from '../../platform/refusal.ts'

export const LABELS_MAX = 50
const CHARS_MAX = 64
const UNSAFE = /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/u

/** More than there may be; the exact numbers are told with 400. */
export const Labels = Type.Array(Type.String({ maxLength: 256 }), {
  maxItems: 200,
  description: `At most ${LABELS_MAX} of 1 to ${CHARS_MAX} characters; they replace those it has`,
})

/** Composed, without blanks around them, each once, in the order given. */
export function readLabels(given: readonly string[]): string[] {
  const labels = [...new Set(given.map((label, n) => readLabel(`body.labels[${n}]`, label)))]
  if (labels.length > LABELS_MAX) throw refuse('invalid_request', `body.labels must have at most ${LABELS_MAX} items.`)
  return labels
}

export function readLabel(field: string, given: string): string {
  const label = given.normalize('NFC').trim()
  const length = Array.from(label).length
  if (length === 0 || length > CHARS_MAX) {
    throw refuse('invalid_request', `${field} must have 1 to ${CHARS_MAX} characters.`)
  }
  if (UNSAFE.test(label)) throw refuse('invalid_request', `${field} must not contain control characters.`)
  return label
}
