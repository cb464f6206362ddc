// Tags of HTML as far as detectors care: where one ends, and whether a reader sees a break there. What scripts and styles hold
// is part of their tag.
import { isLetterAt, type Codes } from './characters.ts'

export interface Tag {
  end: number
  /** A reader sees a break. */
  isBreaking: boolean
  isClosing: boolean
  /** By which two tags of one element are told; 0 of a comment. */
  name: number
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

export const keyOf = (name: string): number => {
  let key = 0
  for (const character of name) key = key * BASE + values[character.charCodeAt(0)]!
  return key
}

/** What a reader sees of an element: a break, or nothing of its content. The others stand within a word. */
const BREAKS = ''
const effects = new Map<number, string>()
for (const name of (
  'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure ' +
  'footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol option p pre search section summary table ' +
  'tbody td tfoot th thead tr ul'
).split(' ')) {
  effects.set(keyOf(name), BREAKS)
}
for (const name of ['script', 'style', 'title', 'template', 'iframe', 'noembed', 'noframes'])
  effects.set(keyOf(name), name)

const [TAB, BLANK, SLASH, EXCLAMATION, QUESTION, EQUALS, GREATER] = [9, 32, 47, 33, 63, 61, 62]

/** Null: a `<` that begins no tag. */
export function tagAt(given: Codes, opening: number, unclosed: Set<string>): Tag | null {
  const { codes, text } = given
  const mark = codes[opening + 1]
  if (mark === EXCLAMATION && text.startsWith('<!--', opening)) {
    return commentTo(endOfComment(text, opening + 4))
  }
  const start = opening + (mark === SLASH ? 2 : 1)
  if (!isLetterAt(given, start)) {
    // Browsers take what else begins so for a comment up to the next bracket.
    const isComment = mark === EXCLAMATION || mark === QUESTION || (mark === SLASH && start < codes.length)
    return isComment ? commentTo(endOf(text, '>', start)) : null
  }
  const nameEnd = endOfName(codes, start)
  const end = endOfTag(given, nameEnd, unclosed)
  const name = keyAt(codes, start, Math.min(nameEnd, start + NAME_CHARS_MAX))
  const effect = nameEnd - start > NAME_CHARS_MAX ? undefined : effects.get(name)
  const isClosing = mark === SLASH
  const isRaw = effect !== undefined && effect !== BREAKS && !isClosing
  return {
    end: isRaw ? endOfHidden(text, { name: effect, end }, unclosed) : end,
    isBreaking: effect === BREAKS,
    isClosing,
    name: isRaw ? 0 : name,
  }
}

const commentTo = (end: number): Tag => ({ end, isBreaking: false, isClosing: true, name: 0 })

/** Elements that may be left open: the next of its name ends it, and a paragraph ends where a line does. */
const LEFT_OPEN: ReadonlySet<number> = new Set(['li', 'td', 'th', 'dd', 'dt', 'option'].map(keyOf))
const PARAGRAPH = keyOf('p')

export const endsBefore = (name: number, next: Tag): boolean =>
  !next.isClosing && (name === PARAGRAPH ? next.isBreaking : next.name === name && LEFT_OPEN.has(name))

/** `<!-->` and `<!--->` are whole, and `--!>` ends one too. */
const END_OF_COMMENT = /--!?>/g

function endOfComment(text: string, from: number): number {
  if (text.startsWith('>', from)) return from + 1
  if (text.startsWith('->', from)) return from + 2
  END_OF_COMMENT.lastIndex = from
  return END_OF_COMMENT.test(text) ? END_OF_COMMENT.lastIndex : text.length
}

/** A bracket within a quoted value ends nothing. Quotes elsewhere, or that are never closed, are characters like others. */
function endOfTag({ codes, text }: Codes, from: number, unclosed: Set<string>): number {
  const { length } = codes
  let [at, hasName] = [from, false]
  for (; at < length; at++) {
    const code = codes[at]!
    if (code === GREATER) return at + 1
    if (code === EQUALS && hasName) {
      at = endOfValue(codes, text, at + 1, unclosed) - 1
      hasName = false
    } else if (!isSpace(code) && code !== SLASH) hasName = true
  }
  return length
}

const isSpace = (code: number): boolean => code === BLANK || (code >= TAB && code <= 13)

function endOfValue(codes: Uint16Array, text: string, from: number, unclosed: Set<string>): number {
  const { length } = codes
  let at = from
  while (at < length && isSpace(codes[at]!)) at++
  const quote = text[at]
  if ((quote === '"' || quote === "'") && !unclosed.has(quote)) {
    const closing = text.indexOf(quote, at + 1)
    if (closing !== -1) return closing + 1
    unclosed.add(quote)
  }
  while (at < length && !isSpace(codes[at]!) && codes[at] !== GREATER) at++
  return at
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
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi')
  closing.lastIndex = end
  const found = closing.exec(text)
  if (!found) unclosed.add(name)
  return found ? endOf(text, '>', found.index) : end
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found === -1 ? text.length : found + mark.length
}
