// Tags of HTML as far as detectors care: where one ends, whether a reader sees a break there, and what it hides.
import { isLetterAt, type Codes } from './characters.ts'

interface Tag {
  end: number
  /** A reader sees a break. */
  isBreaking: boolean
}

/** Names of up to ten letters and digits as one number each: as fast as comparing codes, and exact. */
const NAME_CHARS_MAX = 10
const BASE = 37
/** Of digits and of letters of either case; 0 for what is part of no name. */
const values = new Uint8Array(128)
for (const [n, character] of '0123456789abcdefghijklmnopqrstuvwxyz'.split('').entries()) {
  values[character.charCodeAt(0)] = n + 1
  values[character.toUpperCase().charCodeAt(0)] = n + 1
}

const keyOf = (name: string): number => {
  let key = 0
  for (const character of name) key = key * BASE + values[character.charCodeAt(0)]!
  return key
}

/** What a reader sees of an element: a break, or nothing of its content. The others stand within a word. */
const BREAKS = ''
const effects = new Map<number, string>()
for (const name of (
  'address article aside blockquote br caption dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li ' +
  'main nav ol p pre section table tbody td tfoot th thead tr ul'
).split(' ')) {
  effects.set(keyOf(name), BREAKS)
}
for (const name of ['script', 'style', 'title', 'template']) effects.set(keyOf(name), name)

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
  const nameEnd = endOfName(codes, start)
  const end = endOfTag(codes, nameEnd)
  const effect = nameEnd - start > NAME_CHARS_MAX ? undefined : effects.get(keyAt(codes, start, nameEnd))
  if (effect === undefined || effect === BREAKS || isMarked) return { end, isBreaking: effect === BREAKS }
  return { end: endOfHidden(text, { name: effect, end }, unclosed), isBreaking: false }
}

function endOfTag(codes: Uint16Array, from: number): number {
  const { length } = codes
  let at = from
  while (at < length && codes[at] !== GREATER) at++
  return Math.min(at + 1, length)
}

function endOfName(codes: Uint16Array, from: number): number {
  const { length } = codes
  let at = from
  while (at < length && codes[at]! < 128 && values[codes[at]!] !== 0) at++
  return at
}

function keyAt(codes: Uint16Array, start: number, end: number): number {
  let key = 0
  for (let at = start; at < end; at++) key = key * BASE + values[codes[at]!]!
  return key
}

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
