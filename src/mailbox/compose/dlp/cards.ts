// Numbers of payment cards within a row of digits: a run, runs of the usual shape, runs that are separated alike and end
// where the separation changes, or, where words say what it is, runs that are separated in several ways.
import type { Codes } from './characters.ts'
import type { Match } from './match.ts'
import { nearby, type Nearby } from './nearby.ts'
import { digits, digitsOf, gather, surroundings } from './digits.ts'
import { FIGURE_MARKS, WIDE, isInTable, type Row } from './rows.ts'

const CARD_WORDS = /(?<![a-z])(?:card|visa|mastercard|amex|credit|debit|karte|carte|tarjeta|pan|cvc|cvv|exp)/gi

/** `prefixes`: the first four digits, or from which to which. */
const BRANDS = [
  { name: 'Visa', prefixes: '4000-4999', lengths: [13, 16, 19] },
  { name: 'Mastercard', prefixes: '5100-5599 2221-2720', lengths: [16] },
  { name: 'American Express', prefixes: '3400-3499 3700-3799', lengths: [15] },
  { name: 'Diners Club', prefixes: '3000-3059 3095 3600-3699 3800-3999', lengths: [14, 16] },
  { name: 'Discover', prefixes: '6011 6440-6599', lengths: [16, 19] },
  { name: 'JCB', prefixes: '3528-3589', lengths: [16, 19] },
  { name: 'UnionPay', prefixes: '6200-6299 8100-8199', lengths: [16, 17, 18, 19] },
  { name: 'Maestro', prefixes: '5018 5020 5038 5893 6304 6759 6761-6763', lengths: [16, 18, 19] },
  { name: 'Mir', prefixes: '2200-2204', lengths: [16, 19] },
  { name: 'RuPay', prefixes: '5085-5089 6069-6089', lengths: [16] },
]

/** By the first four digits: which brand, from 1 on. */
const brandOf = new Uint8Array(10_000)
for (const [n, { prefixes }] of BRANDS.entries()) {
  for (const range of prefixes.split(' ')) {
    const [from, to = from] = range.split('-').map(Number) as [number, number?]
    brandOf.fill(n + 1, from, to + 1)
  }
}

const brandAt = (codes: Uint16Array, at: number): number =>
  brandOf[codes[at]! * 1000 + codes[at + 1]! * 100 + codes[at + 2]! * 10 + codes[at + 3]! - 48 * 1111]!

/** Lengths of runs as one number. */
const SHAPES = new Set([4444, 44443, 465, 464, 4445, 4543, 4434, 4442, 4443, 88, 66, 556])
const RUNS_OF_SHAPE_MAX = 5
const [DIGITS_MIN, DIGITS_MAX] = [13, 19]

/** By the lengths of two runs: whether a shape begins with them. It tells most runs of a table apart. */
const beginsShape = new Uint8Array(100)
for (const shape of SHAPES) beginsShape[Number(String(shape).slice(0, 2))] = 1

/** Words farther from the beginning of a number say nothing of it. */
const WORD_CHARS_MAX = 200

interface Found {
  first: number
  last: number
  /** Without words that say what it is. */
  isEnough: boolean
}

/** Reads one row after the other. */
export class Cards {
  readonly #given: Codes
  readonly #codes: Uint16Array
  readonly #row: Row
  readonly #isNear: Nearby
  /** Written as far apart as columns, and without words that say what they are. */
  readonly #wide: Match[] = []

  constructor(given: Codes, row: Row) {
    this.#given = given
    this.#codes = given.codes
    this.#row = row
    this.#isNear = nearby(given.text, CARD_WORDS)
  }

  inRow(): Match[] {
    const matches: Match[] = []
    const { starts, ends, separators, count, digits: length, end } = this.#row
    if (length < DIGITS_MIN) return matches
    for (let first = 0; first < count; first++) {
      const start = starts[first]!
      // No card begins with another digit.
      const beginning = this.#codes[start]!
      if (beginning < 50 || beginning > 56) continue
      const one = ends[first]! - start
      const other = ends[first + 1]! - starts[first + 1]!
      if (one >= DIGITS_MIN) this.#addRun(first, matches)
      else if (one < 10 && other < 10 && beginsShape[one * 10 + other] === 1) this.#addShapes(first, matches)
      if (separators[first] !== separators[first + 1]) this.#addAlike(first, matches)
      const isEdge = separators[first] === 0 || separators[first]! >= WIDE
      // Within a row there are no words: what one of them could name stands near an end of the row.
      if (isEdge && (start < starts[0]! + WORD_CHARS_MAX || start > end - WORD_CHARS_MAX))
        this.#addMixed(first, matches)
    }
    return this.#wide.length === 0 ? matches : [...matches, ...this.#takeWide()]
  }

  #addRun(run: number, matches: Match[]): void {
    if (this.#row.lengthOf(run) > DIGITS_MAX) return
    const card = this.#cardOf(run, run)
    if (card && (card.value.length > OLD_DIGITS || this.#isNamed(card))) matches.push(card)
  }

  #addShapes(first: number, matches: Match[]): void {
    const row = this.#row
    let length = row.lengthOf(first)
    let shape = length
    for (let last = first + 1; last < row.count && last < first + RUNS_OF_SHAPE_MAX; last++) {
      length += row.lengthOf(last)
      if (length > DIGITS_MAX) return
      shape = shape * 10 + row.lengthOf(last)
      const card = length >= DIGITS_MIN && SHAPES.has(shape) ? this.#cardOf(first, last) : null
      if (card) this.#addCard(card, { first, last, isEnough: length > OLD_DIGITS }, matches)
    }
  }

  /** Of any other shape: all of a row, or where words say what it is. */
  #addAlike(first: number, matches: Match[]): void {
    const last = lastAlike(this.#row, first)
    if (last === -1 || isShape(this.#row, first, last)) return
    const card = this.#cardOf(first, last)
    if (!card) return
    const isWhole = this.#row.isEdgeBefore(first) && this.#row.isEdgeBefore(last + 1)
    this.#addCard(card, { first, last, isEnough: isWhole && card.value.length > OLD_DIGITS }, matches)
  }

  /** From the beginning of a row or a column on: where words say what it is, whatever stands between. */
  #addMixed(first: number, matches: Match[]): void {
    const row = this.#row
    const one = row.lengthOf(first)
    if (one >= 4 && brandAt(this.#codes, row.starts[first]!) === 0) return
    let [length, oddities, areAlike] = [one, 0, true]
    for (let last = first + 1; last < row.count; last++) {
      if (row.lengthOf(last) !== one) areAlike = false
      oddities += oddityOf(row.separators[last]!)
      length += row.lengthOf(last)
      // Amounts, dates, times and columns.
      if (length > DIGITS_MAX || (oddities > 1 && !areAlike)) return
      const card = length < DIGITS_MIN ? null : this.#cardOf(first, last)
      if (card && isEndOfMixed(row, first, last) && !this.#isPhone(card) && this.#isNamed(card)) matches.push(card)
    }
  }

  #isPhone({ start }: Match): boolean {
    return this.#codes[start - 1] === PLUS
  }

  #addCard(card: Match, { first, last, isEnough }: Found, matches: Match[]): void {
    const row = this.#row
    // Words are looked for last: that reads all of the text.
    const isPart = row.count > RUNS_OF_NUMBER_MAX || row.hasWide(first, last)
    if ((isEnough && !isPart) || this.#isNamed(card)) matches.push(card)
    else if (isEnough && (row.areAllAlike(first, last) || isShape(row, first, last))) this.#wide.push(card)
  }

  /** Of a table of figures one line in forty would pass as a card; of a list of cards each line does. */
  #takeWide(): Match[] {
    const row = this.#row
    const found: Match[] = []
    let [covered, end] = [0, 0]
    for (const card of this.#wide.splice(0)) {
      if (card.start < end) continue
      found.push(card)
      covered += card.value.length
      end = card.end
    }
    return 2 * covered < row.digits || isInTable(this.#given, row.starts[0]!, row.end) ? [] : found
  }

  #isNamed({ start, end }: Match): boolean {
    return this.#isNear(start, end)
  }

  #cardOf(first: number, last: number): Match | null {
    const [codes, row] = [this.#codes, this.#row]
    // Most are told apart by their first digits, before the others are looked at.
    if (row.lengthOf(first) >= 4 && brandAt(codes, row.starts[first]!) === 0) return null
    const length = gather(codes, row, first, last)
    const brand = BRANDS[brandOf[digits[0]! * 1000 + digits[1]! * 100 + digits[2]! * 10 + digits[3]!]! - 1]
    if (!brand?.lengths.includes(length) || !passesLuhn(length) || !isVaried(length)) return null
    const [start, end] = [row.starts[first]!, row.ends[last]!]
    const around = surroundings(codes, start, end)
    if (around === 'name' || (around === 'letters' && length > GLUED_DIGITS_MAX)) return null
    const card: Match = { detector: 'payment_card', label: brand.name, value: digitsOf(length), start, end }
    return around === 'joined' && !this.#isNamed(card) ? null : card
  }
}

/**
 * Letters on both sides are mostly an id, and of those with so many digits in a row one in thirty passes as a card. They are
 * rare, and a card is easily hidden so; longer numbers in letters are commoner, such as times and snowflakes.
 */
const GLUED_DIGITS_MAX = 16

/** Six cards in groups of four. More runs in a row are a table of figures, or a list of cards, where each line is one. */
const RUNS_OF_NUMBER_MAX = 24

/** So many digits are much oftener an article number than a card of the last century. */
const OLD_DIGITS = 13

function isShape(row: Row, first: number, last: number): boolean {
  if (last - first >= RUNS_OF_SHAPE_MAX) return false
  let shape = 0
  for (let run = first; run <= last; run++) shape = shape * 10 + row.lengthOf(run)
  return SHAPES.has(shape)
}

/** The last of the runs from this one on that are separated alike within, and otherwise or not at all outside; or -1. */
function lastAlike(row: Row, first: number): number {
  const { separators } = row
  const separator = separators[first + 1]!
  if (separator === 0 || separators[first] === separator) return -1
  let length = row.lengthOf(first)
  let last = first
  while (separators[last + 1] === separator && length <= DIGITS_MAX) length += row.lengthOf(++last)
  return length >= DIGITS_MIN && length <= DIGITS_MAX ? last : -1
}

const PLUS = 43

/** What stands between columns is seldom found within one number, and what stands within amounts and times seldom twice. */
const oddityOf = (separator: number): number => (separator >= WIDE ? 2 : FIGURE_MARKS.has(separator) ? 1 : 0)

/** A number with separators of several kinds ends with the row or the column, or where a third kind follows two. */
function isEndOfMixed(row: Row, first: number, last: number): boolean {
  if (row.isEdgeBefore(last + 1)) return true
  const marks = new Set<number>()
  for (let run = first + 1; run <= last; run++) marks.add(row.markBefore(run))
  return marks.size <= 2 && !marks.has(row.markBefore(last + 1))
}

function passesLuhn(length: number): boolean {
  let sum = 0
  for (let at = length - 1, isDoubled = false; at >= 0; at--, isDoubled = !isDoubled) {
    const digit = digits[at]!
    sum += !isDoubled ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/** A row of one digit is a placeholder. */
function isVaried(length: number): boolean {
  for (let at = 1; at < length; at++) if (digits[at] !== digits[0]) return true
  return false
}
