// From bytes to a JSON value that is safe to handle: valid UTF-8, bounded nesting, no NUL, no lone surrogate, no
// `__proto__`. Each of these would otherwise surface far from here, as a 500 or as silently changed data.
import { isUtf8 } from 'node:buffer'
import { refuse } from '../refusal.ts'

/** Deeper than any body the API defines; recursion over what passes cannot exhaust the stack. */
const DEPTH_MAX = 32

export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw refuse('invalid_json', 'The body is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    throw refuse('invalid_json', 'The body is not valid JSON.')
  }
  inspect(value)
  return value
}

function inspect(root: unknown): void {
  const stack: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  while (stack.length > 0) {
    const { value, depth } = stack.pop()!
    if (typeof value === 'string') inspectText(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth >= DEPTH_MAX) throw refuse('invalid_json', `The body is nested deeper than ${DEPTH_MAX} levels.`)
    for (const name of Object.keys(value)) {
      if (!Array.isArray(value)) {
        if (name === '__proto__') throw refuse('invalid_json', 'The body uses a reserved field name.')
        inspectText(name)
      }
      stack.push({ value: (value as Record<string, unknown>)[name], depth: depth + 1 })
    }
  }
}

function inspectText(text: string): void {
  if (text.includes('\0')) throw refuse('invalid_request', 'The body holds a NUL character.')
  if (!text.isWellFormed()) throw refuse('invalid_request', 'The body holds half of a surrogate pair.')
}
