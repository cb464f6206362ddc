// Quoted-printable (RFC 2045 §6.7) for what others wrote: bytes of any charset, and texts that are encoded already.

const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32
const EQUALS = 61
const LINE_CHARS = 75 // 76 with the `=` of a soft line break, RFC 2045 §6.7 (5)
const HEX = Buffer.from('0123456789ABCDEF', 'latin1')

/** For bytes of any charset whose line breaks are CRLF. */
export function quotedPrintable(body: Buffer): Buffer {
  // At worst every byte is an escape of three, with a soft break of three after 25 of them.
  const target = Buffer.allocUnsafe(Math.ceil(body.length * 3.13) + 3)
  let offset = 0
  let column = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte === CR && body[at + 1] === LF) {
      target[offset++] = CR
      target[offset++] = LF
      column = 0
      at++
      continue
    }
    const width = standsForItself(body, at) ? 1 : 3
    if (column + width > LINE_CHARS) {
      target[offset++] = EQUALS
      target[offset++] = CR
      target[offset++] = LF
      column = 0
    }
    column += width
    if (width === 3) {
      target[offset++] = EQUALS
      target[offset++] = HEX[byte >> 4]!
      target[offset++] = HEX[byte & 15]!
    } else target[offset++] = byte
  }
  return target.subarray(0, offset)
}

function standsForItself(body: Buffer, at: number): boolean {
  const byte = body[at]!
  // A blank at the end of a line may be dropped by relays (RFC 2045 §6.7 (3)).
  if (byte === SPACE || byte === TAB) return at + 1 < body.length && body[at + 1] !== CR
  return byte > SPACE && byte < 127 && byte !== EQUALS
}

/** The same text in lines of at most 76: soft line breaks are put in, never inside an escape. */
export function withSoftBreaks(body: Buffer): Buffer {
  const text = body.toString('latin1')
  return Buffer.from(text.replaceAll(/[^\r\n]{77,}/g, softBroken), 'latin1')
}

function softBroken(line: string): string {
  const pieces: string[] = []
  let start = 0
  while (line.length - start > LINE_CHARS + 1) {
    let end = start + LINE_CHARS
    if (line[end - 1] === '=') end -= 1
    else if (line[end - 2] === '=') end -= 2
    pieces.push(line.slice(start, end))
    start = end
  }
  return [...pieces, line.slice(start)].join('=\r\n')
}
