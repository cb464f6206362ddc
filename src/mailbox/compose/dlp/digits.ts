// What numbers of cards and of social security have in common.
import { isDigit, type Row } from './rows.ts'

/** At most so much of the word around a number is looked at. */
const WORD_CHARS_MAX = 40
const [DOT, COMMA, UNDERSCORE] = [46, 44, 95]

/**
 * Whether it is by itself, within letters, or part of a longer name or number: of a hexadecimal id, a fraction, a path of
 * digits and letters. Letters on one side may be a word that lost its blank, or stood in a tag of its own. An underscore is a
 * blank where a word follows, as in names of files; numbers joined by it, or letters on the other side, are mostly an id.
 */
export function surroundings(codes: Uint16Array, start: number, end: number): 'alone' | 'letters' | 'joined' | 'name' {
  const before = codes[start - 1]
  if ((before === DOT || before === COMMA) && isDigit(codes[start - 2]) && end - start < 20) return 'name'
  const head = besides(codes, start - 1, -1)
  const tail = besides(codes, end, 1)
  if (head === 'mixed' || tail === 'mixed') return 'name'
  if (head === 'numbers' || tail === 'numbers') return 'joined'
  if (head !== 'letters' && tail !== 'letters') return 'alone'
  if (head === 'word' || tail === 'word') return 'joined'
  return head === 'nothing' || tail === 'nothing' ? 'alone' : 'letters'
}

/** Letters; letters with digits or underscores among them; an underscore and behind it a word, or one with digits. */
type Beside = 'nothing' | 'letters' | 'mixed' | 'word' | 'numbers'

function besides(codes: Uint16Array, from: number, step: 1 | -1): Beside {
  if (codes[from] !== UNDERSCORE) {
    const letters = lettersFrom(codes, from, step)
    return letters === MIXED ? 'mixed' : letters === 0 ? 'nothing' : 'letters'
  }
  let at = from + step
  for (let seen = 0; codes[at] === UNDERSCORE && seen < WORD_CHARS_MAX; seen++) at += step
  for (let seen = 0; seen < WORD_CHARS_MAX && (isLetter(codes[at]) || isDigit(codes[at])); seen++, at += step) {
    if (isDigit(codes[at])) return 'numbers'
  }
  return 'word'
}

const MIXED = -1

/** How many letters of ASCII follow in this direction; or that digits or underscores are among them. */
function lettersFrom(codes: Uint16Array, from: number, step: 1 | -1): number {
  let letters = 0
  for (let at = from; letters < WORD_CHARS_MAX; at += step, letters++) {
    const code = codes[at]
    if (isDigit(code) || code === UNDERSCORE) return MIXED
    if (!isLetter(code)) break
  }
  return letters
}

const isLetter = (code: number | undefined): boolean =>
  code !== undefined && code < 128 && ((code | 32) - 97) >>> 0 <= 25

/** Of the number that was gathered last; none that is looked for has more. */
export const digits = new Uint8Array(19)

/** Answers how many digits these runs have. */
export function gather(codes: Uint16Array, row: Row, first: number, last: number): number {
  let length = 0
  for (let run = first; run <= last; run++) {
    for (let at = row.starts[run]!, end = row.ends[run]!; at < end; at++) digits[length++] = codes[at]! - 48
  }
  return length
}

/** As text. */
export function digitsOf(length: number): string {
  let text = ''
  for (let at = 0; at < length; at++) text += digits[at]!
  return text
}
