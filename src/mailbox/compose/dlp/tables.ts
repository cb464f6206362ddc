// Whether figures are those of a table: its columns are set apart by blanks, in the lines above and below as well.
import { isBlankAt, isDigitAt, type Codes } from './characters.ts'

/** So much before and behind is looked at: some lines. */
const AROUND_CHARS = 240
/** Blanks before a figure that make a column, and so many of them that make a table. */
const COLUMN_BLANKS_MIN = 3
const COLUMNS_MIN = 3

/** Of what stands between these positions. */
export function isInTable(given: Codes, start: number, end: number): boolean {
  const before = columnsIn(given, start - AROUND_CHARS, start)
  return before >= COLUMNS_MIN || before + columnsIn(given, end, end + AROUND_CHARS) >= COLUMNS_MIN
}

function columnsIn(given: Codes, from: number, to: number): number {
  let [columns, blanks] = [0, 0]
  for (let at = Math.max(0, from); at < to && at < given.codes.length; at++) {
    if (isBlankAt(given, at)) blanks++
    else {
      if (blanks >= COLUMN_BLANKS_MIN && isDigitAt(given, at)) columns++
      blanks = 0
    }
  }
  return columns
}
