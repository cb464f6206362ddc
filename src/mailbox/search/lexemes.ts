// How text becomes words, for documents and for queries alike: compatibility forms, case and accents are folded, words are
// runs of letters and digits, and scripts without spaces between words go by pairs of characters. Addresses and numbers are
// found in parts and as a whole.

/** Words that were written together: `ann.lee@example.com`, `INV-2026-001`, `1,234.56`. */
export interface Compound {
  segments: Segment[]
  /**
   * An address, or the digits of a number without what separates them; then those before its decimals. None where the
   * segments say it all.
   */
  wholes: readonly string[]
}

export interface Segment {
  text: string
  /** In a script that writes words without spaces: it is found by pairs of characters. */
  isDense: boolean
}

/** Longer words are cut: nobody types them, and garbage has many. */
const WORD_CHARS_MAX = 64
const WHOLE_CHARS_MAX = 128
/** Text is folded in pieces, so that a reader that has enough stops early. */
const PIECE_CHARS = 8_192

/** The group has what makes it more than one word. */
const COMPOUND = /[\p{L}\p{N}\p{M}]+((?:[._+\-@,][\p{L}\p{N}\p{M}]+)*)/gu
const NUMBER = /^\d+(?:[.,-]\d+)+$/
/** Behind another sign than what separates the thousands. */
const DECIMALS = /^(\d+(?:,\d+)+)\.\d+$|^(\d+(?:\.\d+)+),\d+$/
const ASCII = /^[\0-\x7f]*$/ // oxlint-disable-line no-control-regex

export function compoundsOf(text: string): Compound[] {
  const compounds: Compound[] = []
  visitWords(text, {
    word: word => compounds.push({ segments: [{ text: word, isDense: false }], wholes: [] }),
    compound: compound => compounds.push(compound),
    isFull: () => false,
  })
  return compounds
}

/** What takes the words of a text, in their order. */
interface WordVisitor {
  /** A word that is neither dense nor one of several written together. Nearly all are. */
  word: (word: string) => void
  compound: (compound: Compound) => void
  /** Asked before each piece and each word: no more are wanted. */
  isFull: () => boolean
}

/** Without an object for each word: a mail has hundreds, a long one hundreds of thousands. */
export function visitWords(text: string, visitor: WordVisitor): void {
  for (let start = 0; start < text.length && !visitor.isFull();) {
    const end = endOfPiece(text, start)
    visitPiece(text.slice(start, end), visitor)
    start = end
  }
}

function visitPiece(piece: string, visitor: WordVisitor): void {
  if (ASCII.test(piece)) return visitCoded(piece.toLowerCase(), { visitor, isAscii: true })
  const folded = fold(piece)
  if (SURROGATES.test(folded)) visitMatches(folded, visitor)
  else visitCoded(folded, { visitor, isAscii: false })
}

const SURROGATES = /[\ud800-\udfff]/

/** What a character is, by its code: of a word, between two of them (`._+-@,`), or neither. */
const [OF_WORD, JOINING] = [1, 2]

/** Of all characters but those of two codes; a few milliseconds, so not before text asks for it. */
function kindsByCode(): Uint8Array {
  const kinds = new Uint8Array(0x10000)
  for (let code = 0; code < kinds.length; code++) {
    const character = String.fromCharCode(code)
    kinds[code] = IN_WORD.test(character) ? OF_WORD : '._+-@,'.includes(character) ? JOINING : 0
  }
  return kinds
}

const IN_WORD = /[\p{L}\p{N}\p{M}]/u
let kinds: Uint8Array | null = null

/** The same as by the expression in half the time, and without the objects that a match is made of. */
function visitCoded(folded: string, { visitor, isAscii }: { visitor: WordVisitor; isAscii: boolean }): void {
  kinds ??= kindsByCode()
  for (let at = 0; at < folded.length; at++) {
    if (kinds[folded.charCodeAt(at)] !== OF_WORD) continue
    if (visitor.isFull()) return
    const wordEnd = endOfWord(folded, at, kinds)
    let end = wordEnd
    // What joins two words has a character behind it, or joins nothing.
    while (end + 1 < folded.length && kinds[folded.charCodeAt(end)] === JOINING) {
      const next = endOfWord(folded, end + 1, kinds)
      if (next === end + 1) break
      end = next
    }
    const found = folded.slice(at, end)
    if (end !== wordEnd) visitJoined(found, visitor)
    else if (isAscii) visitor.word(cut(found))
    else visitWord(found, visitor)
    at = end
  }
}

/** Never asks beyond the end of the text: what is there is no number, and looking it up makes every look-up slow. */
function endOfWord(folded: string, from: number, kinds: Uint8Array): number {
  let end = from
  while (end < folded.length && kinds[folded.charCodeAt(end)] === OF_WORD) end++
  return end
}

function visitWord(found: string, visitor: WordVisitor): void {
  if (MAYBE_DENSE.test(found)) visitor.compound({ segments: segmentsOf(found), wholes: [] })
  else visitor.word(cut(found))
}

function visitMatches(folded: string, visitor: WordVisitor): void {
  COMPOUND.lastIndex = 0
  for (let match = COMPOUND.exec(folded); match && !visitor.isFull(); match = COMPOUND.exec(folded)) {
    const found = match[0]
    if (match[1] !== '') visitJoined(found, visitor)
    else visitWord(found, visitor)
  }
}

function visitJoined(found: string, visitor: WordVisitor): void {
  // A comma joins the digits of a number and nothing else.
  if (!found.includes(',') || NUMBER.test(found)) visitor.compound(compound(found))
  else for (const part of found.split(',')) visitor.compound(compound(part))
}

/** At the last space of the piece, so that no word is cut; where there is none, between two characters. */
function endOfPiece(text: string, start: number): number {
  const end = start + PIECE_CHARS
  if (end >= text.length) return text.length
  const space = Math.max(text.lastIndexOf(' ', end), text.lastIndexOf('\n', end))
  if (space > start) return space + 1
  const isHalf = (text.charCodeAt(end) & 0xfc00) === 0xdc00
  return isHalf ? end + 1 : end
}

const digitsOf = (number: string): string => number.replace(/\D/g, '').slice(0, WORD_CHARS_MAX)

function compound(text: string): Compound {
  const words = text.split(/[._+\-@,]/)
  const segments = words.flatMap(segmentsOf)
  if (text.includes('@')) return { segments, wholes: [text.slice(0, WHOLE_CHARS_MAX).toWellFormed()] }
  if (!NUMBER.test(text)) return { segments, wholes: [] }
  const [, ofComma, ofPoint] = DECIMALS.exec(text) ?? []
  const integer = ofComma ?? ofPoint
  return { segments, wholes: integer === undefined ? [digitsOf(text)] : [digitsOf(text), digitsOf(integer)] }
}

/** Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer. */
const DENSE =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Myanmar}\p{sc=Khmer}ー]+/gu
const MAYBE_DENSE = /[\u0e00-\uffff]/

function segmentsOf(word: string): Segment[] {
  if (!MAYBE_DENSE.test(word)) return [{ text: cut(word), isDense: false }]
  const segments: Segment[] = []
  let at = 0
  for (const { 0: run, index } of word.matchAll(DENSE)) {
    if (index > at) segments.push({ text: cut(word.slice(at, index)), isDense: false })
    segments.push({ text: run, isDense: true })
    at = index + run.length
  }
  if (at < word.length) segments.push({ text: cut(word.slice(at)), isDense: false })
  return segments
}

const cut = (word: string): string =>
  word.length <= WORD_CHARS_MAX ? word : word.slice(0, WORD_CHARS_MAX).toWellFormed()

/** Pairs of characters that follow each other. */
export function pairsOf(dense: string): string[] {
  const characters = Array.from(dense)
  return characters.slice(1).map((character, index) => characters[index]! + character)
}

/** Marks of Latin, Greek, Cyrillic, Hebrew and Arabic, which writers leave out. In other scripts marks are letters. */
const ACCENTS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g
/** Soft hyphens, zero-width spaces and marks of direction: they stand inside words and are not seen. */
const UNSEEN = /\p{Cf}/gu
/** Letters that no decomposition leads to the ones people type instead. */
const LETTERS = /[ßøłđæœðþıς]/g
const TYPED: Record<string, string> = {
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  æ: 'ae',
  œ: 'oe',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
}

export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  return text
    .replace(UNSEEN, '')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    .replace(ACCENTS, '')
    .normalize('NFC')
    .replace(LETTERS, letter => TYPED[letter]!)
}
