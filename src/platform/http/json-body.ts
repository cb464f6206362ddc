// From bytes to a JSON value that is safe to handle: valid UTF-8, bounded nesting and number of values, no NUL, no lone
// surrogate, no `__proto__`. Each of these would otherwise surface far from here, as a 500, as silently changed data, or
// as a thread that is busy for half a minute.
import { isUtf8 } from 'node:buffer'
import { refuse, type RefusalCode } from '../refusal.ts'

/** Deeper than any body the API defines; recursion over what passes cannot exhaust the stack. */
const DEPTH_MAX = 32
/** More than any body the API takes has. As many empty objects take 200 ms and 60 MB to parse. */
const VALUES_MAX = 500_000

/** `textRefusal` is what a NUL or half a character in a text is refused with. */
export function parseJsonBody(bytes: Buffer, textRefusal: RefusalCode = 'invalid_request'): unknown {
  if (!isUtf8(bytes)) throw refuse('invalid_json', 'The body is not valid UTF-8.')
  boundValues(bytes)
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

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN_BRACKET = 91
const OPEN_BRACE = 123

/** Before parsing, which makes an object of every value: each but the first follows a comma or opens what holds it. */
function boundValues(bytes: Buffer): void {
  if (bytes.length <= VALUES_MAX) return
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) at = endOfText(bytes, at)
    else if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      values += 1
      if (values > VALUES_MAX) throw refuse('invalid_json', `The body contains more than ${VALUES_MAX} values.`)
    }
  }
}

/** Where the closing quote of the text that opens here stands; the end of the bytes when it has none. */
function endOfText(bytes: Buffer, open: number): number {
  for (let close = bytes.indexOf(QUOTE, open + 1); close !== -1; close = bytes.indexOf(QUOTE, close + 1)) {
    let escapes = 0
    while (bytes[close - 1 - escapes] === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return close
  }
  return bytes.length
}

function inspect(root: unknown, textRefusal: RefusalCode): void {
  const values: unknown[] = [root]
  const depths: number[] = [0]
  while (values.length > 0) {
    const value = values.pop()
    const depth = depths.pop()!
    if (typeof value === 'string') inspectText(value, textRefusal)
    if (typeof value !== 'object' || value === null) continue
    if (depth >= DEPTH_MAX) throw refuse('invalid_json', `The body is nested deeper than ${DEPTH_MAX} levels.`)
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        values.push(value[index])
        depths.push(depth + 1)
      }
      continue
    }
    for (const name in value) {
      if (name === '__proto__') throw refuse('invalid_json', 'The body uses a reserved field name.')
      inspectText(name, textRefusal)
      values.push((value as Record<string, unknown>)[name])
      depths.push(depth + 1)
    }
  }
}

function inspectText(text: string, refusal: RefusalCode): void {
  if (text.includes('\0')) throw refuse(refusal, 'The body contains a NUL character.')
  if (!text.isWellFormed()) throw refuse(refusal, 'The body contains half of a surrogate pair.')
}
