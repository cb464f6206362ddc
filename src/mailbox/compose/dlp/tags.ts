// Tags of HTML as far as detectors care: where one ends, whether a reader sees a break there, and what it hides.
import { isLetterAt, isWordAt, type Codes } from './characters.ts'

interface Tag {
  end: number
  /** A reader sees a break. */
  isBreaking: boolean
}

/** Names of up to ten letters and digits as one number each: as fast as comparing codes, and exact. */
const NAME_CHARS_MAX = 10
const BASE = 37

const keyOf = (name: string): number => {
  let key = 0
  for (const character of name) key = key * BASE + Number.parseInt(character, 36) + 1
  return key
}

/** The others stand within a word. */
const BREAKING = new Set(
  (
    'address article aside blockquote br caption dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li ' +
    'main nav ol p pre section table tbody td tfoot th thead tr ul'
  )
    .split(' ')
    .map(keyOf),
)
/** Their content is not shown. */
const HIDING = new Map(['script', 'style', 'title', 'template'].map(name => [keyOf(name), name]))

const [SLASH, EXCLAMATION, QUESTION, GREATER] = [47, 33, 63, 62]

/** Null: a `<` that begins no tag. */
export function tagAt(given: Codes, opening: number, unclosed: Set<string>): Tag | null {
  const { codes, text } = given
  if (codes[opening + 1] === EXCLAMATION && text.startsWith('<!--', opening)) {
    return { end: endOf(text, '-->', opening + 4), isBreaking: false }
  }
  const mark = codes[opening + 1]
  const isMarked = mark === SLASH || mark === EXCLAMATION || mark === QUESTION
  const start = opening + (isMarked ? 2 : 1)
  if (!isLetterAt(given, start)) return null
  const name = nameAt(given, start)
  const end = endOfTag(codes, start)
  const hiding = isMarked ? undefined : HIDING.get(name)
  return {
    end: hiding === undefined ? end : endOfHidden(text, { name: hiding, end }, unclosed),
    isBreaking: BREAKING.has(name),
  }
}

function endOfTag(codes: Uint16Array, from: number): number {
  const { length } = codes
  let at = from
  while (at < length && codes[at] !== GREATER) at++
  return Math.min(at + 1, length)
}

const UNKNOWN = -1

function nameAt(given: Codes, start: number): number {
  let key = 0
  for (let at = start; isWordAt(given, at); at++) {
    if (at - start === NAME_CHARS_MAX) return UNKNOWN
    const code = given.codes[at]!
    // Digits count from 1, letters of either case from 11.
    key = key * BASE + (code <= NINE ? code - ZERO : (code | LOWER) - A + 10) + 1
  }
  return key
}

const [ZERO, NINE, A, LOWER] = [48, 57, 97, 32]

/** An element that is never closed hides nothing here: what follows is read as if the tag were not there. */
function endOfHidden(text: string, { name, end }: { name: string; end: number }, unclosed: Set<string>): number {
  // Looking once is enough: ten thousand open tags must not read the rest ten thousand times.
  if (unclosed.has(name)) return end
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = end
  const found = closing.exec(text)
  if (!found) unclosed.add(name)
  return found ? endOf(text, '>', found.index) : end
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found + mark.length
}
