// Which characters are digits, letters, or what may stand between them, by their codes: a look into a table is several times
// as fast as a pattern, and every character of every mail is looked at.

const DIGIT = 1
const LETTER = 2
const GAP = 4
const BASE64 = 8
const TOKEN = 16
const BLANK = 32

const kinds = new Uint8Array(128)
const mark = (characters: string, kind: number): void => {
  for (const character of characters) kinds[character.charCodeAt(0)]! |= kind
}
mark('0123456789', DIGIT)
mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', LETTER)
mark(' \t\n\v\f\r-._/|,:*~+()#', GAP)
mark(' \t\n\v\f\r', BLANK)
mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_', BASE64)
mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=.:', TOKEN)

const [MIDDLE_DOT, BULLET] = [0xb7, 0x2022]

/** A text with the codes of its characters: reading a string by index costs by how it was put together. */
export interface Codes {
  text: string
  codes: Uint16Array
}

export function codesOf(text: string): Codes {
  const bytes = Buffer.from(text, 'utf16le')
  const isAligned = bytes.byteOffset % 2 === 0
  const { buffer, byteOffset } = isAligned ? bytes : Buffer.from(Uint8Array.from(bytes).buffer)
  return { text, codes: new Uint16Array(buffer, byteOffset, text.length) }
}

/** The text that these codes are. One of western characters alone takes half the room, and patterns read it faster. */
export function textOf(codes: Uint16Array): string {
  let all = 0
  for (let at = 0; at < codes.length; at++) all |= codes[at]!
  if (all < 256) return Buffer.from(new Uint8Array(codes).buffer).toString('latin1')
  return Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString('utf16le')
}

/** Before the beginning and behind the end nothing is anything. */
const isOf = (codes: Uint16Array, at: number, kind: number): boolean => {
  if (at < 0 || at >= codes.length) return false
  const code = codes[at]!
  return code < 128 && (kinds[code]! & kind) !== 0
}

export const isDigitAt = ({ codes }: Codes, at: number): boolean => isOf(codes, at, DIGIT)
export const isLetterAt = ({ codes }: Codes, at: number): boolean => isOf(codes, at, LETTER)
export const isWordAt = ({ codes }: Codes, at: number): boolean => isOf(codes, at, DIGIT | LETTER)
export const isBase64At = ({ codes }: Codes, at: number): boolean => isOf(codes, at, BASE64)

/** White space of ASCII. */
export const isBlankAt = ({ codes }: Codes, at: number): boolean => isOf(codes, at, BLANK)

export const isGapAt = ({ codes }: Codes, at: number): boolean => {
  const code = at < codes.length ? codes[at]! : 0
  return code < 128 ? (kinds[code]! & GAP) !== 0 : code === MIDDLE_DOT || code === BULLET
}

/** Where the run of characters of this kind begins that this position is in. */
function beginOf(codes: Uint16Array, from: number, kind: number): number {
  let at = from
  while (at > 0 && codes[at - 1]! < 128 && (kinds[codes[at - 1]!]! & kind) !== 0) at--
  return at
}

function endOf(codes: Uint16Array, from: number, kind: number): number {
  const { length } = codes
  let at = from
  while (at < length && codes[at]! < 128 && (kinds[codes[at]!]! & kind) !== 0) at++
  return at
}

export const endOfBase64 = ({ codes }: Codes, from: number): number => endOf(codes, from, BASE64)

/** Taking away what zero is wraps everything below to a large number, so that one comparison is enough. */
export function nextDigit(codes: Uint16Array, from: number): number {
  const { length } = codes
  let at = from
  while (at < length && ((codes[at]! - ZERO) & 0xffff) > 9) at++
  return at
}

export function endOfDigits(codes: Uint16Array, from: number): number {
  const { length } = codes
  let at = from
  while (at < length && ((codes[at]! - ZERO) & 0xffff) <= 9) at++
  return at
}

const ZERO = 48

export interface Word {
  start: number
  end: number
}

/** Words of so many characters or more that tokens are made of, as they stand. Shorter ones are stepped over. */
export function longWords({ codes }: Codes, charsMin: number): Word[] {
  const words: Word[] = []
  for (let probe = charsMin - 1; probe < codes.length; probe += charsMin) {
    if (!isOf(codes, probe, TOKEN)) continue
    const start = beginOf(codes, probe, TOKEN)
    const end = endOf(codes, probe, TOKEN)
    if (end - start >= charsMin) words.push({ start, end })
    probe = end - 1
  }
  return words
}
