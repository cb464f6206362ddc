// Content-Transfer-Encoding (RFC 2045 §6) undone, as tolerant as mail readers are: what is not of the alphabet is passed over,
// and bytes are given as they stand where the encoding is unknown.
const EQUALS = 61
const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9

/** The bytes of a body. A view of the source where nothing had to be undone. */
export function decodeTransfer(body: Buffer, encoding: string): Buffer {
  switch (encoding) {
    case 'base64':
      return decodeBase64(body)
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    case 'x-uuencode':
    case 'uuencode':
    case 'x-uue':
    case 'uue':
      return decodeUu(body)
    default:
      return body
  }
}

const SLICE_BYTES = 1_048_576 // so that the text of a large part never exists as a whole

/** Base64, also where several pieces with a padding of their own stand one after the other. */
export function decodeBase64(source: Buffer): Buffer {
  const body = source.subarray(0, endOfBase64(source))
  const chunks: Buffer[] = []
  let rest = ''
  for (let start = 0; start < body.length; start += SLICE_BYTES) {
    const slice = body.toString('latin1', start, start + SLICE_BYTES)
    // The engine's decoder stops at the first padding, so each piece is decoded for itself.
    const pieces = (rest + slice.replaceAll(/[^A-Za-z0-9+/=_-]+/g, '')).split(/=+/)
    const last = pieces.pop()!
    for (const piece of pieces) if (piece) chunks.push(Buffer.from(piece, 'base64'))
    const whole = last.length - (last.length % 4)
    rest = last.slice(whole)
    chunks.push(Buffer.from(last.slice(0, whole), 'base64'))
  }
  // A group that is short of characters is the end of something that was cut.
  chunks.push(Buffer.from(rest, 'base64'))
  return Buffer.concat(chunks)
}

const LINE_CHARS_MAX = 1_000 // a longer one is no footer
const SHORT_LINE_CHARS = 8

/** Behind the padding a list may have put its footer, in plain text: where the first line behind it is no base64. */
function endOfBase64(body: Buffer): number {
  let at = body.indexOf(EQUALS)
  let isNextLine = false
  while (at !== -1 && !isNextLine) {
    for (; at < body.length && (body[at] === EQUALS || body[at]! <= SPACE); at++) isNextLine ||= body[at] === LF
    if (!isNextLine) at = body.indexOf(EQUALS, at)
  }
  if (at === -1 || at >= body.length) return body.length
  const feed = body.indexOf(LF, at)
  const line = body.toString('latin1', at, Math.min(feed === -1 ? body.length : feed, at + LINE_CHARS_MAX)).trimEnd()
  const isPiece = /^[\w+/=-]+$/.test(line) && (line.length % 4 === 0 || line.length >= SHORT_LINE_CHARS)
  return isPiece ? body.length : at
}

/** Escapes and soft line breaks; what is no escape stands for itself. */
export function decodeQuotedPrintable(body: Buffer): Buffer {
  if (body.indexOf(EQUALS) === -1) return body
  const target = Buffer.allocUnsafeSlow(body.length)
  let length = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (byte !== EQUALS) {
      target[length++] = byte
      continue
    }
    const value = (hex(body[at + 1]) << 4) | hex(body[at + 2])
    const softEnd = value >= 0 ? -1 : endOfSoftBreak(body, at + 1)
    if (value >= 0) {
      target[length++] = value
      at += 2
    } else if (softEnd !== -1) at = softEnd - 1
    else target[length++] = byte
  }
  return target.subarray(0, length)
}

/** Negative when it is no digit, also after it was shifted. */
function hex(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

const PADDING_MAX = 100 // blanks that a relay may have put behind a soft break

function endOfSoftBreak(body: Buffer, from: number): number {
  let at = from
  while (at - from < PADDING_MAX && (body[at] === SPACE || body[at] === TAB)) at++
  if (at >= body.length) return at
  if (body[at] === CR) at++
  return body[at] === LF ? at + 1 : -1
}

/** The lines between `begin` and `end`; all lines, where those are missing. */
function decodeUu(body: Buffer): Buffer {
  const text = body.toString('latin1')
  const begin = /^begin \d{3,4} [^\r\n]*\r?\n/m.exec(text)
  const chunks: Buffer[] = []
  let at = begin ? begin.index + begin[0].length : 0
  while (at < text.length) {
    const feed = text.indexOf('\n', at)
    const end = feed === -1 ? text.length : feed
    const line = text.slice(at, end).trimEnd()
    if (line === 'end') break
    const bytes = (text.charCodeAt(at) - 32) & 63
    if (line !== '' && bytes > 0) chunks.push(decodeUuLine(line, bytes))
    at = end + 1
  }
  return Buffer.concat(chunks)
}

function decodeUuLine(line: string, bytes: number): Buffer {
  const target = Buffer.alloc(Math.ceil(bytes / 3) * 3)
  for (let group = 0; group * 3 < bytes; group++) {
    const at = 1 + group * 4
    const bits = [0, 1, 2, 3].reduce((sum, n) => (sum << 6) | (((line.charCodeAt(at + n) || 32) - 32) & 63), 0)
    target.writeUIntBE(bits & 0xffffff, group * 3, 3)
  }
  return target.subarray(0, bytes)
}
