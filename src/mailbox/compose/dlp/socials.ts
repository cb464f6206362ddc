// US social security numbers within a row of digits. Dashes in the usual places are enough; other forms count where the words
// around say what the number is.
import type { Codes } from './characters.ts'
import { digits, digitsOf, gather, surroundings } from './digits.ts'
import type { Match } from './match.ts'
import { nearby, type Nearby } from './nearby.ts'
import { BLANK, DASH, WIDE, type Row } from './rows.ts'

const SOCIAL_WORDS = /(?<![a-z])(?:ssn|social[\s-]{0,3}security|soc[.\s]{0,2}sec|tax(?:payer)?[\s-]{0,3}id|itin)/gi

const DIGITS = 9
/** Digits of its area, group and serial. */
const GROUPS = [3, 2, 4]

/** Reads one row after the other. */
export class Socials {
  readonly #codes: Uint16Array
  readonly #row: Row
  readonly #isNear: Nearby

  constructor({ codes, text }: Codes, row: Row) {
    this.#codes = codes
    this.#row = row
    this.#isNear = nearby(text, SOCIAL_WORDS)
  }

  inRow(): Match[] {
    const matches: Match[] = []
    const [codes, row] = [this.#codes, this.#row]
    for (let first = 0; first < row.count; first++) {
      const last = lastOf(row, first)
      if (last === -1 || !isIssuable(codes, row, first, last)) continue
      const [start, end] = [row.starts[first]!, row.ends[last]!]
      if (surroundings(codes, start, end) !== 'alone') continue
      if (!isDashed(row, first, last) && !this.#isNear(start, end)) continue
      const value = digitsOf(DIGITS)
      matches.push({ detector: 'us_ssn', label: 'US social security number', value, start, end })
    }
    return matches
  }
}

/** The last run of a number that begins with this one; or -1. */
function lastOf(row: Row, first: number): number {
  const length = row.lengthOf(first)
  if (length === DIGITS) return first
  if (length === GROUPS[0]) return isGrouped(row, first) ? first + 2 : -1
  return length === 1 && row.lengthOf(first + 1) === 1 ? lastSpelled(row, first) : -1
}

/** Three, two and four digits; where marks separate them, alike. */
function isGrouped(row: Row, first: number): boolean {
  if (row.lengthOf(first + 1) !== GROUPS[1] || row.lengthOf(first + 2) !== GROUPS[2]) return false
  const [one, other] = [row.markBefore(first + 1), row.markBefore(first + 2)]
  return one === other || one === BLANK || other === BLANK
}

/** Digits may be written apart, `1 2 3 - 4 5 - 6 7 8 9`: blanks join them, other marks part them. */
function lastSpelled(row: Row, first: number): number {
  let [group, length, mark] = [0, row.lengthOf(first), 0]
  for (let last = first + 1; last < row.count; last++) {
    const separator = row.markBefore(last)
    if (separator !== BLANK) {
      if (length !== GROUPS[group] || (mark !== 0 && separator !== mark)) return -1
      mark = separator
      group++
      length = 0
    }
    length += row.lengthOf(last)
    if (group === GROUPS.length || length > GROUPS[group]!) return -1
    if (group === GROUPS.length - 1 && length === GROUPS[group]) return last
  }
  return -1
}

/** With a dash within and no columns, and neither the number before nor the one after is joined with a dash. */
function isDashed(row: Row, first: number, last: number): boolean {
  if (row.separators[first] === DASH || row.separators[last + 1] === DASH) return false
  let hasDash = false
  for (let run = first + 1; run <= last; run++) {
    if (row.separators[run] === BLANK + WIDE) return false
    if (row.markBefore(run) === DASH) hasDash = true
  }
  return hasDash
}

/** Numbers that were never given out: areas 000, 666 and from 900, group 00, serial 0000. */
function isIssuable(codes: Uint16Array, row: Row, first: number, last: number): boolean {
  gather(codes, row, first, last)
  const area = digits[0]! * 100 + digits[1]! * 10 + digits[2]!
  const serial = digits[5]! + digits[6]! + digits[7]! + digits[8]!
  return area !== 0 && area !== 666 && area < 900 && digits[3]! + digits[4]! !== 0 && serial !== 0
}
