// Finds the phrases of all languages in a text in one pass. They stand in one tree of characters: from the beginning of each
// word, or from each character where a script has no blanks, the tree is followed as far as the text goes along.
import { CONCEPTS, type Concept, type Lexicon } from './lexicon/concept.ts'
import { normalise } from './normalise.ts'

/**
 * One occurrence. The concept comes as its index; the position is in words from the beginning, where the end of a sentence
 * counts as several. Plain arguments, because a long text has hundreds of thousands.
 */
export type Found = (concept: number, position: number, start: number, end: number) => void

export const conceptIndex = (concept: Concept): number => CONCEPTS.indexOf(concept)

interface Node {
  next: Map<number, Node>
  /** The same by character for ASCII, where a node is near the root and most words of a text end. */
  ascii: (Node | undefined)[] | null
  /** Concepts of phrases that end here at the end of a word. */
  whole: number[] | null
  /** Concepts of phrases after which a word may go on. */
  stem: number[] | null
}

const BLANK = 32
/** How much further apart words are in two sentences. */
const SENTENCE_GAP = 3
const LONG_WORD_CHARS = 18 // words glued together by invisible characters are longer than nearly all others
const SEPARATORS_MAX = 4

export class Phrases {
  readonly #root = node()

  constructor(lexicons: readonly Lexicon[]) {
    for (const lexicon of lexicons) {
      for (const concept of CONCEPTS)
        for (const phrase of lexicon[concept]?.split('|') ?? []) this.#add(phrase, conceptIndex(concept))
    }
    addTables(this.#root, TABLE_DEPTH)
  }

  #add(phrase: string, concept: number): void {
    const isStem = phrase.endsWith('*')
    let current = this.#root
    for (const char of words(normalise(isStem ? phrase.slice(0, -1) : phrase))) {
      const code = char.charCodeAt(0)
      let following = current.next.get(code)
      if (!following) current.next.set(code, (following = node()))
      current = following
    }
    const concepts = isStem ? (current.stem ??= []) : (current.whole ??= [])
    if (!concepts.includes(concept)) concepts.push(concept)
  }

  /** Calls back for each occurrence, in the order in which they begin, and for each word. The text is normalised. */
  scan(text: string, found: Found, atWord?: (start: number, position: number) => void): void {
    let position = 0
    let before = 0
    let wordStart = 0
    for (let at = 0; at < text.length; at++) {
      const kind = kindOf(text.charCodeAt(at))
      if (kind === IDEOGRAPH) {
        this.#follow(text, at, position, found)
        // Two characters are about a word.
        position += 0.5
      } else if (kind === LETTER) {
        if (before !== LETTER) {
          wordStart = at
          position++
          atWord?.(at, position)
          this.#follow(text, at, position, found)
        } else if (at - wordStart === LONG_WORD_CHARS) {
          // Only now is it known that the word is long, so its inside is looked at from its beginning.
          for (let inside = wordStart; inside <= at; inside++) this.#follow(text, inside, position, found, true)
        } else if (at - wordStart > LONG_WORD_CHARS) this.#follow(text, at, position, found, true)
      } else if (kind === SENTENCE_END && before !== SENTENCE_END && isSentenceEnd(text, at)) position += SENTENCE_GAP
      before = kind
    }
  }

  #follow(text: string, start: number, position: number, found: Found, isInside = false): void {
    let current = this.#root
    let at = start
    while (at < text.length) {
      const code = text.charCodeAt(at)
      const kind = kindOf(code)
      const isWord = kind === LETTER || kind === IDEOGRAPH
      const following = step(current, isWord ? code : BLANK)
      if (!following) return
      at = isWord ? at + 1 : afterSeparators(text, at)
      if (at === -1) return
      current = following
      const isEnd = isInside || kind === IDEOGRAPH || at >= text.length || kindOf(text.charCodeAt(at)) !== LETTER
      if (current.stem) for (const concept of current.stem) found(concept, position, start, at)
      if (isEnd && current.whole) for (const concept of current.whole) found(concept, position, start, at)
    }
  }
}

const node = (): Node => ({ next: new Map(), ascii: null, whole: null, stem: null })

const step = ({ next, ascii }: Node, code: number): Node | undefined =>
  ascii && code < 128 ? ascii[code] : next.get(code)

/** A table of 128 for each node of the first three characters takes 2 MB in all; deeper ones are seldom reached. */
const TABLE_DEPTH = 3

function addTables(from: Node, depth: number): void {
  if (depth === 0) return
  from.ascii = Array.from({ length: 128 }, (_, code) => from.next.get(code))
  for (const following of from.next.values()) addTables(following, depth - 1)
}

/** Words parted by single blanks. */
const words = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim()

/** The next word, or -1 when too much stands between. */
function afterSeparators(text: string, from: number): number {
  for (let at = from; at <= from + SEPARATORS_MAX && at < text.length; at++) {
    const kind = kindOf(text.charCodeAt(at))
    if (kind === LETTER || kind === IDEOGRAPH) return at
  }
  return -1
}

const OTHER = 1
const LETTER = 2
const IDEOGRAPH = 3
const SENTENCE_END = 4

const ASCII_KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  return /[a-z0-9]/.test(char) ? LETTER : /[.!?\n]/.test(char) ? SENTENCE_END : OTHER
})

function kindOf(code: number): number {
  if (code < 128) return ASCII_KINDS[code]!
  if (code >= 0x3041 && code <= 0x9fff) return IDEOGRAPH
  if (code === 0x3002 || code === 0xff01 || code === 0xff1f) return SENTENCE_END
  if (code < 0xc0 || (code >= 0x2000 && code < 0x2c00) || (code >= 0x3000 && code < 0x3041)) return OTHER
  return LETTER
}

/** A dot between words without a blank sets nothing apart, and a single line break is only folded text. */
function isSentenceEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code > 127) return true
  const next = text.charCodeAt(at + 1)
  return code === 10 ? next === 10 || next === 13 : Number.isNaN(next) || next <= 32 || next === 34
}
