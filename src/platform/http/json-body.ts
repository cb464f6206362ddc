// From bytes to a JSON value that is safe to handle: valid UTF-8, bounded nesting, no NUL, no lone surrogate, no
// `__proto__`. Each of these would otherwise surface far from here, as a 500 or as silently changed data.
import { isUtf8 } from 'node:buffer'
import { refuse, type RefusalCode } from '../refusal.ts'

/** Deeper than any body the API defines; recursion over what passes cannot exhaust the stack. */
const DEPTH_MAX = 32

/** `textRefusal` is what a NUL or half a character in a text is refused with. */
export function parseJsonBody(bytes: Buffer, textRefusal: RefusalCode = 'invalid_request'): unknown {
  if (!isUtf8(bytes)) throw refuse('invalid_json', 'The body is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    throw refuse('invalid_json', 'The body is not valid JSON.')
  }
  inspect(value, textRefusal)
  return value
}

function inspect(root: unknown, textRefusal: RefusalCode): void {
  const stack: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  while (stack.length > 0) {
    const { value, depth } = stack.pop()!
    if (typeof value === 'string') inspectText(value, textRefusal)
    if (typeof value !== 'object' || value === null) continue
    if (depth >= DEPTH_MAX) throw refuse('invalid_json', `The body is nested deeper than ${DEPTH_MAX} levels.`)
    for (const name of Object.keys(value)) {
      if (!Array.isArray(value)) {
        if (name === '__proto__') throw refuse('invalid_json', 'The body uses a reserved field name.')
        inspectText(name, textRefusal)
      }
      stack.push({ value: (value as Record<string, unknown>)[name], depth: depth + 1 })
    }
  }
}

function inspectText(text: string, refusal: RefusalCode): void {
  if (text.includes('\0')) throw refuse(refusal, 'The body holds a NUL character.')
  if (!text.isWellFormed()) throw refuse(refusal, 'The body holds half of a surrogate pair.')
}
