// What numbers of cards and of social security have in common.

/** At most so much of the word around a number is looked at. */
const WORD_CHARS_MAX = 40
const [DOT, COMMA, UNDERSCORE] = [46, 44, 95]

/**
 * Whether it is by itself, within letters, or part of a longer name or number: of a hexadecimal id, a fraction, a path of
 * digits and letters. Letters on one side may be a word that lost its blank, or stood in a tag of its own.
 */
export function surroundings(codes: Uint16Array, start: number, end: number): 'alone' | 'letters' | 'name' {
  const before = codes[start - 1]
  if ((before === DOT || before === COMMA) && isDigit(codes[start - 2]) && end - start < 20) return 'name'
  const head = lettersFrom(codes, start - 1, -1)
  const tail = lettersFrom(codes, end, 1)
  if (head === MIXED || tail === MIXED) return 'name'
  return head === 0 || tail === 0 ? 'alone' : 'letters'
}

const MIXED = -1

/** How many letters of ASCII follow in this direction; or that digits or underscores are among them. */
function lettersFrom(codes: Uint16Array, from: number, step: 1 | -1): number {
  let letters = 0
  for (let at = from; letters < WORD_CHARS_MAX; at += step, letters++) {
    const code = codes[at]
    if (isDigit(code) || code === UNDERSCORE) return MIXED
    if (code === undefined || code > 127 || ((code | 32) - 97) >>> 0 > 25) break
  }
  return letters
}

const isDigit = (code: number | undefined): boolean => code !== undefined && code >= 48 && code <= 57

/** As text. */
export function digitsOf(digits: Uint8Array, length: number): string {
  let text = ''
  for (let at = 0; at < length; at++) text += digits[at]!
  return text
}
