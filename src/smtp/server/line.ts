// One line of an SMTP client as text. Lines end with CRLF; what must never stand in a line is told apart from what is
// merely no text.
import { isUtf8 } from 'node:buffer'

const CR = 13

/**
 * The text of a line whose LF stands at `feed`; null when it is no text, and `smuggled` when it holds what must never
 * stand in a line.
 */
export function readableLine(input: Buffer, feed: number): { text: string } | 'smuggled' | null {
  if (feed === 0 || input[feed - 1] !== CR) return 'smuggled'
  const text = input.toString('latin1', 0, feed - 1)
  if (/[\r\0]/.test(text)) return 'smuggled'
  if (/^[ -~]*$/.test(text)) return { text }
  const bytes = input.subarray(0, feed - 1)
  const decoded = isUtf8(bytes) ? bytes.toString('utf8') : null
  return decoded === null || /\p{Cc}/u.test(decoded) ? null : { text: decoded }
}
