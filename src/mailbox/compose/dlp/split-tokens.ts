// Tokens with blanks, line ends or dashes in them: wrapped by a program, or taken apart by somebody.
import { isWordAt, type Codes } from './characters.ts'
import type { Match } from './match.ts'
import { isRandom } from './random.ts'
import { beginningOf, indexed, TOKENS, type TokenForm } from './token-forms.ts'

/** No token is shorter. */
const CHARS_MIN = 18
const CHARS_MAX = 500
const PIECES_MAX = 60
/** In the mean: characters that stand apart one by one are put together elsewhere. */
const PIECE_CHARS_MIN = 3
/** Between two pieces. */
const GAP_MAX = 40

export function* splitTokensIn(given: Codes): Generator<Match> {
  const { length } = given.codes
  for (let at = nextBeginning(given, 0); at < length; at = nextBeginning(given, at + 1)) {
    const token = tokenAt(given, at)
    if (!token) continue
    yield token
    at = token.end - 1
  }
}

interface Split extends TokenForm {
  /** The prefix as it stands, without dashes where those may stand anywhere. */
  bare: string
  hasDashes: boolean
}

/** With dashes taken out, what is left of a shorter prefix begins ordinary words. */
const BARE_CHARS_MIN = 5

const SPLIT: readonly Split[] = TOKENS.filter(
  ({ prefix }) => /^[A-Za-z]/.test(prefix) && !prefix.includes('/'),
).flatMap(form => {
  const bare = form.prefix.replaceAll('-', '')
  const byBlanks = { ...form, bare: form.prefix, hasDashes: false }
  return bare === form.prefix || bare.length >= BARE_CHARS_MIN
    ? [byBlanks, { ...form, bare, hasDashes: true }]
    : [byBlanks]
})

const { beginnings, forms: byBeginning } = indexed(SPLIT, ({ bare }) => bare)
const firsts = new Uint8Array(128)
for (const { bare } of SPLIT) firsts[bare.charCodeAt(0)] = 1

/** Where the next word begins as a token may, or the end. */
function nextBeginning(given: Codes, from: number): number {
  const { codes } = given
  const { length } = codes
  for (let at = from; at < length; at++) {
    const first = codes[at]!
    if (first > 127 || firsts[first] === 0 || isJoinedAt(given, at - 1)) continue
    const second = codes[nextPart(codes, at + 1, true)] ?? 128
    if (second < 128 && beginnings[beginningOf(first, second)] === 1) return at
  }
  return length
}

const [SPACE, PLUS, DASH, DOT, UNDERSCORE] = [32, 43, 45, 46, 95]

/** What stands behind one of these is the same word. */
function isJoinedAt(given: Codes, at: number): boolean {
  const code = at < 0 ? 0 : given.codes[at]!
  return isWordAt(given, at) || code === DASH || code === UNDERSCORE || code === PLUS || code === DOT
}

/** Behind what may stand between two pieces. */
function nextPart(codes: Uint16Array, from: number, hasDashes: boolean): number {
  const end = Math.min(codes.length, from + GAP_MAX)
  let at = from
  while (at < end && (codes[at]! <= SPACE || (hasDashes && codes[at] === DASH))) at++
  return at
}

function tokenAt(given: Codes, start: number): Match | null {
  const { text, codes } = given
  const second = codes[nextPart(codes, start + 1, true)]!
  const isDashed = text.slice(start, start + DASHED_CHARS).includes('-')
  for (const form of byBeginning.get(beginningOf(codes[start]!, second))!) {
    if ((form.hasDashes && !isDashed) || !hasPrefixAt(codes, start, form)) continue
    const token = joinedAt(given, start, form)
    if (token) return token
  }
  return null
}

/** A token that is divided by dashes has one among so many characters. */
const DASHED_CHARS = 40

function hasPrefixAt(codes: Uint16Array, start: number, { bare, hasDashes }: Split): boolean {
  for (let n = 0, at = start; n < bare.length; n++, at = nextPart(codes, at + 1, hasDashes)) {
    if (codes[at] !== bare.charCodeAt(n)) return false
  }
  return true
}

/** With the fewest pieces that make one: what follows are the words of the text. */
function joinedAt({ text, codes }: Codes, start: number, form: Split): Match | null {
  const pieces: string[] = []
  let [joined, words] = ['', 0]
  for (let at = start; joined.length < CHARS_MAX && pieces.length < PIECES_MAX;) {
    const end = endOfPiece(codes, at, form.hasDashes)
    const piece = text.slice(at, Math.min(end, at + CHARS_MAX))
    if (piece === '') return null
    joined += piece
    pieces.push(piece)
    if (pieces.length > 3 && joined.length < PIECE_CHARS_MIN * pieces.length) return null
    if (WORD.test(piece)) words++
    if (pieces.length > 5 && words * 2 > pieces.length) return null
    const value = pieces.length > 1 && joined.length >= CHARS_MIN ? valueOf(joined, form) : null
    if (value !== null && isMadeUp(value, pieces, form)) {
      const behind = joined.length - (value.length - form.prefix.length + form.bare.length)
      return { detector: 'api_token', label: form.label, value, start, end: end - behind }
    }
    at = nextPart(codes, end, form.hasDashes)
  }
  return null
}

/** Where a blank stands, or a dash that counts as one. */
function endOfPiece(codes: Uint16Array, from: number, hasDashes: boolean): number {
  const end = Math.min(codes.length, from + CHARS_MAX)
  let at = from
  while (at < end && codes[at]! > SPACE && !(hasDashes && codes[at] === DASH)) at++
  return at
}

/** The whole of it, but for what ends a sentence. */
function valueOf(joined: string, { form, prefix, bare }: Split): string | null {
  const whole = prefix + joined.slice(bare.length)
  form.lastIndex = 0
  const value = form.exec(whole)?.[0] ?? null
  return value !== null && !/^[A-Za-z0-9]/.test(whole.slice(value.length)) ? value : null
}

const DIGITS_MIN = 4
const LETTERS_MIN = 5
/** No word of a text is so long and has digits. */
const LONG_CHARS_MIN = 16

/** Words and dates of a text that follow a prefix by chance are mostly letters, or mostly digits. */
function isMadeUp(value: string, pieces: readonly string[], { prefix, isCertain = false }: TokenForm): boolean {
  const own = value.slice(prefix.length)
  const digits = own.match(/\d/g)?.length ?? 0
  const followers = pieces.slice(1)
  // The name of a continent in capitals begins as some of them do.
  if (isCertain) return prefix === 'AKIA' ? digits > 0 : digits >= DIGITS_MIN && hasFewWords(followers)
  if (!isRandom(own)) return false
  const mixed = followers.filter(piece => /\d/.test(piece) && /[A-Za-z]/.test(piece))
  if (mixed.some(piece => piece.length >= LONG_CHARS_MIN)) return true
  const odd = followers.filter(piece => ODD.test(piece)).length
  if (digits > 0 && odd * 2 > followers.length) return true
  const letters = own.match(/[A-Za-z]/g)?.length ?? 0
  return (
    digits >= DIGITS_MIN && letters >= LETTERS_MIN && hasFewWords(followers) && mixed.length * 4 >= followers.length
  )
}

/** Capitals among small letters, more than once: no word, and hardly a name in a program. */
const ODD = /[a-z][A-Z].*[a-z][A-Z]|[a-z]\d.*[A-Z]|[A-Z]\d.*[a-z]|[a-z][A-Z].*\d/

const WORD = /^[^A-Za-z0-9]*(?:[A-Za-z]?[a-z]{2,}|[A-Z]{3,})[^A-Za-z0-9]*$/

const hasFewWords = (pieces: readonly string[]): boolean =>
  pieces.filter(piece => WORD.test(piece)).length * 3 <= pieces.length
