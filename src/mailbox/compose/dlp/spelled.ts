// Characters that somebody wrote apart, one by one, so that no word is to be seen: `s v c _ a b` or `s-v-c-_-a-b`.
import { isBlankAt, isGapAt, isWordAt, textOf, type Codes, type Word } from './characters.ts'

/** The characters without what stood between, in words; each with its position in the text. */
interface Spelled extends Codes {
  words: readonly Word[]
  positions: Uint32Array
}

/** No token is shorter. */
const CHARS_MIN = 15
/** Between two positions that are looked at: so many characters written apart are longer than that. */
const PROBE_STEP = 24
const BLANKS_MAX = 4

/** Null where nothing is written so: every mail but a few. */
export function spelledIn(given: Codes): Spelled | null {
  const { length } = given.codes
  const words: Word[] = []
  let [codes, positions, count] = [NO_CODES, NO_POSITIONS, 0]
  for (let probe = 0; probe < length; probe += PROBE_STEP) {
    const at = characterNear(given, probe)
    if (at === -1) continue
    if (positions.length === 0) [codes, positions] = [new Uint16Array(length), new Uint32Array(length)]
    const [start, mark] = [count, isBlankAt(given, at + 1) ? 0 : given.codes[at + 1]!]
    for (let next = firstAround(given, at); next !== -1; next = nextApart(given, next, mark)) {
      codes[count] = given.codes[next]!
      positions[count++] = next
    }
    probe = Math.max(probe, positions[count - 1]!)
    if (count - start >= CHARS_MIN) words.push({ start, end: count })
    else count = start
  }
  return words.length === 0
    ? null
    : { text: textOf(codes.slice(0, count)), codes: codes.slice(0, count), words, positions }
}

const [NO_CODES, NO_POSITIONS] = [new Uint16Array(0), new Uint32Array(0)]

/** A character that is written apart, as the one that follows it; -1 where none stands. */
function characterNear(given: Codes, probe: number): number {
  let at = probe
  while (at < probe + BLANKS_MAX && isBlankAt(given, at)) at++
  if (isBlankAt(given, at + 1)) return isAlone(given, at) && afterBlanks(given, at) !== -1 ? at : -1
  if (isMarked(given, at)) return at
  return given.codes[at] === given.codes[at + 2] && isMarked(given, at + 1) ? at + 1 : -1
}

/** What tokens are made of is ASCII. */
const isVisible = (given: Codes, at: number): boolean => given.codes[at]! < 128 && !isBlankAt(given, at)

/** Behind blanks; what follows it is no part of a word. */
const isAlone = (given: Codes, at: number): boolean =>
  isVisible(given, at) && (at === 0 || isBlankAt(given, at - 1)) && !isWordAt(given, at + 1)

/** A mark behind it, and the same behind the next. */
const isMarked = (given: Codes, at: number): boolean =>
  isWordAt(given, at) && isMark(given, at + 1) && given.codes[at + 1] === given.codes[at + 3]

const isMark = (given: Codes, at: number): boolean => isGapAt(given, at) && !isBlankAt(given, at)

/** The first of the characters that are written apart in the same way as this one. */
function firstAround(given: Codes, at: number): number {
  let first = at
  if (isBlankAt(given, at + 1)) {
    for (let before = beforeBlanks(given, at); before !== -1; before = beforeBlanks(given, before)) first = before
    return first
  }
  while (first >= 2 && given.codes[first - 1] === given.codes[at + 1] && isVisible(given, first - 2)) first -= 2
  return first
}

/** The next character that is written apart in the same way, with this mark between or with blanks; or -1. */
function nextApart(given: Codes, at: number, mark: number): number {
  if (mark === 0) return afterBlanks(given, at)
  return given.codes[at + 1] === mark && isVisible(given, at + 2) ? at + 2 : -1
}

/** The next character that stands alone behind some blanks; -1 where there is none. */
function afterBlanks(given: Codes, at: number): number {
  let next = at + 1
  while (next <= at + BLANKS_MAX && isBlankAt(given, next)) next++
  return next > at + 1 && isAlone(given, next) ? next : -1
}

function beforeBlanks(given: Codes, at: number): number {
  let before = at - 1
  while (before >= at - BLANKS_MAX && isBlankAt(given, before)) before--
  return before < at - 1 && before >= 0 && isAlone(given, before) ? before : -1
}
