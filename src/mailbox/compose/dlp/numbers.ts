// Numbers of payment cards and US social security numbers, whatever stands between their digits. A row of digits is cut into
// runs; a number is a run, runs of the usual shape, or runs that are separated alike and end where the separation changes.
import { isBlankAt, isDigitAt, isGapAt, type Codes } from './characters.ts'
import type { Match } from './match.ts'

/** Digits that stand together, and what stands before them within the row. */
interface Run {
  digits: string
  start: number
  end: number
  /** What separates it from the run before, folded: a blank, a dash, a dot …; '' for the first. */
  separator: string
}

/** Longer rows are tables; what is in them is found all the same, a part of them at a time. */
const RUNS_MAX = 64
const GAP_MAX = 4

export function numbersIn(given: Codes, digitRuns: readonly number[]): Match[] {
  const { text } = given
  const matches: Match[] = []
  let end = 0
  for (const start of digitRuns) {
    // It stands in the row before.
    if (start < end) continue
    const row = rowFrom(given, start)
    end = row.end
    if (row.digits < DIGITS_MIN) continue
    for (const runs of partsOf(runsIn(given, start, end))) {
      for (const match of cardsIn(text, runs)) matches.push(match)
      for (const match of socialsIn(text, runs)) matches.push(match)
    }
  }
  return matches
}

/** Rows with fewer digits hold nothing. */
const DIGITS_MIN = 9

function rowFrom(given: Codes, start: number): { digits: number; end: number } {
  let [digits, end] = [0, start]
  for (let at = start; at - end <= GAP_MAX; at++) {
    if (isDigitAt(given, at)) {
      digits++
      end = at + 1
    } else if (!isGapAt(given, at)) break
  }
  return { digits, end }
}

function runsIn(given: Codes, start: number, end: number): Run[] {
  const runs: Run[] = []
  for (let at = start; at < end;) {
    let stop = at
    while (isDigitAt(given, stop)) stop++
    const separator = runs.length === 0 ? '' : separatorOf(given, runs.at(-1)!.end, at)
    runs.push({ digits: given.text.slice(at, Math.min(stop, at + RUN_CHARS_MAX)), start: at, end: stop, separator })
    at = stop
    while (at < end && !isDigitAt(given, at)) at++
  }
  return runs
}

/** No number is longer, and a run of a million digits is none. */
const RUN_CHARS_MAX = 64

/** The last runs of a part begin the next: what stands across the cut is found there. */
function partsOf(runs: Run[]): Run[][] {
  if (runs.length <= RUNS_MAX) return [runs]
  const parts: Run[][] = []
  for (let start = 0; start < runs.length; start += RUNS_MAX) parts.push(runs.slice(start, start + RUNS_MAX + 20))
  return parts
}

/** Blanks beside a mark say nothing; blanks alone are a separator. */
function separatorOf(given: Codes, start: number, end: number): string {
  let at = start
  while (at < end && isBlankAt(given, at)) at++
  if (at === end) return ' '
  const gap = given.text.slice(start, end)
  if (gap.length === 1) return gap
  const marks = gap.replaceAll(/\s+/g, '')
  return marks.replaceAll(/(.)\1+/g, '$1')
}

interface Brand {
  name: string
  prefix: RegExp
  lengths: readonly number[]
}

const BRANDS: readonly Brand[] = [
  { name: 'Visa', prefix: /^4/, lengths: [13, 16, 19] },
  { name: 'Mastercard', prefix: /^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, lengths: [16] },
  { name: 'American Express', prefix: /^3[47]/, lengths: [15] },
  { name: 'Diners Club', prefix: /^(?:30[0-5]|3095|36|3[89])/, lengths: [14, 16] },
  { name: 'Discover', prefix: /^(?:6011|64[4-9]|65)/, lengths: [16, 19] },
  { name: 'JCB', prefix: /^35(?:2[89]|[3-8])/, lengths: [16, 19] },
  { name: 'UnionPay', prefix: /^(?:62|81)/, lengths: [16, 17, 18, 19] },
  { name: 'Maestro', prefix: /^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, lengths: [16, 18, 19] },
  { name: 'Mir', prefix: /^220[0-4]/, lengths: [16, 19] },
  { name: 'RuPay', prefix: /^(?:508[5-9]|6069|607|608)/, lengths: [16] },
]

const SHAPES = new Set(['4444', '44443', '465', '464', '4445', '4543', '4434', '4442', '4443', '88', '66', '556'])

function cardsIn(text: string, row: readonly Run[]): Match[] {
  const matches: Match[] = []
  for (const { first, last, isUsual } of windowsOf(row)) {
    const digits = row
      .slice(first, last + 1)
      .map(run => run.digits)
      .join('')
    const brand = brandOf(digits)
    if (!brand || !passesLuhn(digits) || !isVaried(digits)) continue
    const [start, end] = [row[first]!.start, row[last]!.end]
    if (!standsAlone(text, start, end)) continue
    // Thirteen digits are much oftener an article number than a card of the last century.
    if ((digits.length === 13 || !isUsual) && !isNear(text, { start, end }, CARD_WORDS)) {
      if (digits.length === 13 || !isWhole(row, first, last)) continue
    }
    matches.push({ detector: 'payment_card', label: brand.name, value: digits, start, end })
  }
  return matches
}

interface Window {
  first: number
  last: number
  isUsual: boolean
}

function windowsOf(row: readonly Run[]): Window[] {
  const windows: Window[] = []
  for (let first = 0; first < row.length; first++) {
    // No card begins with another digit.
    const beginning = row[first]!.digits.charCodeAt(0)
    if (beginning < 50 || beginning > 56) continue
    let length = 0
    for (let last = first; last < row.length && length < 19; last++) {
      length += row[last]!.digits.length
      if (length < 13 || length > 19) continue
      if (isUsualShape(row, first, last)) windows.push({ first, last, isUsual: true })
      else if (isAlike(row, first, last)) windows.push({ first, last, isUsual: false })
    }
  }
  return windows
}

const RUNS_OF_SHAPE_MAX = 5

function isUsualShape(row: readonly Run[], first: number, last: number): boolean {
  if (first === last) return true
  if (last - first >= RUNS_OF_SHAPE_MAX) return false
  let shape = ''
  for (let at = first; at <= last; at++) shape += row[at]!.digits.length
  return SHAPES.has(shape)
}

/** Separated alike within, and otherwise or not at all outside. */
function isAlike(row: readonly Run[], first: number, last: number): boolean {
  const { separator } = row[last]!
  if (row[first]!.separator === separator || row[last + 1]?.separator === separator) return false
  for (let at = first + 1; at < last; at++) if (row[at]!.separator !== separator) return false
  return true
}

const isWhole = (row: readonly Run[], first: number, last: number): boolean => first === 0 && last === row.length - 1

const brandOf = (digits: string): Brand | undefined =>
  BRANDS.find(({ prefix, lengths }) => lengths.includes(digits.length) && prefix.test(digits))

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = digits.length - 1, isDoubled = false; at >= 0; at--, isDoubled = !isDoubled) {
    const digit = digits.charCodeAt(at) - 48
    sum += !isDoubled ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/** A row of one digit is a placeholder. */
const isVaried = (digits: string): boolean => !/^(\d)\1*$/.test(digits)

/** Not a part of a longer name or number: of a hexadecimal id, a fraction, a path of digits and letters. */
function standsAlone(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 40), start)
  const after = text.slice(end, end + 40)
  if (/\d[.,]$/.test(before) && end - start < 20) return false
  const head = /[A-Za-z0-9_]*$/.exec(before)![0]
  const tail = /^[A-Za-z0-9_]*/.exec(after)![0]
  if (/[0-9_]/.test(head) || /[0-9_]/.test(tail)) return false
  // Letters alone may be a word that lost its blank, or stood in a tag of its own; letters on both sides are an id.
  return head === '' || tail === ''
}

const CARD_WORDS = /\b(?:card|visa|mastercard|amex|credit|debit|karte|carte|tarjeta|pan|cvc|cvv|exp)/i
const SOCIAL_WORDS = /\b(?:ssn|social[\s-]{0,3}security|soc[.\s]{0,2}sec|tax(?:payer)?[\s-]{0,3}id|itin)/i

const isNear = (text: string, { start, end }: { start: number; end: number }, words: RegExp): boolean =>
  words.test(text.slice(Math.max(0, start - 80), start)) || words.test(text.slice(end, end + 40))

/** Dashes in the usual places are enough; other forms count where the words around say what the number is. */
function socialsIn(text: string, row: readonly Run[]): Match[] {
  const matches: Match[] = []
  for (let first = 0; first < row.length; first++) {
    const found = socialWindow(row, first)
    if (!found || !isIssuable(found.digits)) continue
    const { digits, last, separator } = found
    const [start, end] = [row[first]!.start, row[last]!.end]
    if (!standsAlone(text, start, end)) continue
    const isDashed = separator === '-' && isSeparated(row, first, last)
    if (!isDashed && !isNear(text, { start, end }, SOCIAL_WORDS)) continue
    matches.push({ detector: 'us_ssn', label: 'US social security number', value: digits, start, end })
  }
  return matches
}

function socialWindow(row: readonly Run[], first: number): { digits: string; last: number; separator: string } | null {
  const only = row[first]!
  if (only.digits.length === 9) return { digits: only.digits, last: first, separator: '' }
  if (!isSocialShape(row, first) && !isSpelled(row, first)) return null
  const window = gathered(row, first)
  return window && window.groups === '3-2-4' ? window : null
}

/** Three, two and four digits: most runs are told apart by this. */
const isSocialShape = (row: readonly Run[], first: number): boolean =>
  row[first]!.digits.length === 3 && row[first + 1]?.digits.length === 2 && row[first + 2]?.digits.length === 4

/** Digits may be written apart, `1 2 3 - 4 5 - 6 7 8 9`: blanks join them, other marks part them. */
function gathered(row: readonly Run[], first: number) {
  const groups: string[] = ['']
  let mark = ''
  for (let last = first; last < row.length; last++) {
    const { digits, separator } = row[last]!
    if (last > first && separator !== ' ') {
      if (mark !== '' && separator !== mark) return null
      mark = separator
      groups.push('')
    } else if (last > first && !isSpelled(row, first)) groups.push('')
    groups[groups.length - 1] += digits
    const total = groups.reduce((sum, group) => sum + group.length, 0)
    if (total > 9) return null
    if (total === 9) {
      return {
        digits: groups.join(''),
        last,
        separator: mark || ' ',
        groups: groups.map(group => group.length).join('-'),
      }
    }
  }
  return null
}

const isSpelled = (row: readonly Run[], first: number): boolean =>
  row[first]!.digits.length === 1 && row[first + 1]?.digits.length === 1

/** Neither the number before nor the one after is joined with a dash. */
const isSeparated = (row: readonly Run[], first: number, last: number): boolean =>
  row[first]!.separator !== '-' && row[last + 1]?.separator !== '-'

/** Numbers that were never given out: areas 000, 666 and from 900, group 00, serial 0000. */
const isIssuable = (digits: string): boolean =>
  !/^(?:000|666|9)/.test(digits) && digits.slice(3, 5) !== '00' && digits.slice(5) !== '0000'
