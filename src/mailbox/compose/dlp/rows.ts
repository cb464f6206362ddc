// Rows of digits: runs of them with so little between that a reader takes them for one number. They are kept as numbers in
// arrays: a table of figures has a hundred thousand runs, and an object and a string for each cost more than all detectors.
import { endOfDigits, isBlankAt, isDigitAt, type Codes } from './characters.ts'

/** As much as somebody puts between digits that belong together; blanks in a row count once, and so does a repeated mark. */
const GAP_MAX = 4
/** What separates two runs: blanks alone, a dash; others have numbers of their own. */
export const BLANK = 1
export const DASH = 2
/** Added to the number of a separator with more characters than GAP_MAX: columns are separated so, and seldom one number. */
export const WIDE = 1 << 20

/** A number for each character that may stand between digits. Blanks are one, whichever. */
const gaps = new Uint8Array(128)
for (const blank of ' \t\n\v\f\r') gaps[blank.charCodeAt(0)] = BLANK
for (const [n, mark] of '-._/|,:*~+()#'.split('').entries()) gaps[mark.charCodeAt(0)] = DASH + n
/** What stands within amounts, dates and times. */
export const FIGURE_MARKS: ReadonlySet<number> = new Set(Array.from('.,:', mark => gaps[mark.charCodeAt(0)]!))
const [MIDDLE_DOT, BULLET] = [0xb7, 0x2022]
/** Larger than every number of a mark: those of one gap are digits of one number, below WIDE. */
const MARKS = 32

const gapOf = (code: number): number =>
  code < 128 ? gaps[code]! : code === MIDDLE_DOT ? MARKS - 1 : code === BULLET ? MARKS - 2 : 0

export class Row {
  /** Runs, and digits in all of them. */
  count = 0
  digits = 0
  end = 0
  /** Of each run. Behind the last there is one without digits. */
  starts = new Int32Array(64)
  ends = new Int32Array(64)
  /** What stands before each; 0 before the first and behind the last. */
  separators = new Int32Array(64)

  /** The row that begins with the digit at this position. */
  read({ codes }: Codes, start: number): void {
    let { starts, ends, separators } = this
    let [count, digits, separator] = [0, 0, 0]
    for (let at = start; ;) {
      if (count + EMPTY_RUNS >= starts.length) ({ starts, ends, separators } = this.#grown())
      const end = endOfDigits(codes, at)
      starts[count] = at
      ends[count] = end
      separators[count++] = separator
      digits += end - at
      // Most gaps are one character.
      const mark = end < codes.length ? gapOf(codes[end]!) : 0
      const isShort = mark !== 0 && end + 1 < codes.length && isDigit(codes[end + 1]!)
      at = isShort ? end + 1 : mark === 0 ? end : endOfGap(codes, end)
      if (!isShort && (at === end || at >= codes.length || !isDigit(codes[at]!))) {
        this.#finish(count, digits, end)
        return
      }
      separator = isShort ? mark : separatorOf(codes, end, at)
    }
  }

  lengthOf(run: number): number {
    return this.ends[run]! - this.starts[run]!
  }

  /** Nothing before this run belongs to it: the row begins, or the gap is as wide as between columns. Behind the last too. */
  isEdgeBefore(run: number): boolean {
    return this.separators[run] === 0 || this.separators[run]! >= WIDE
  }

  hasWide(first: number, last: number): boolean {
    for (let run = first + 1; run <= last; run++) if (this.separators[run]! >= WIDE) return true
    return false
  }

  areAllAlike(first: number, last: number): boolean {
    for (let run = first + 1; run <= last; run++) if (this.lengthOf(run) !== this.lengthOf(first)) return false
    return true
  }

  /** What separates a run from the one before, however wide. */
  markBefore(run: number): number {
    return this.separators[run]! & (WIDE - 1)
  }

  #finish(count: number, digits: number, end: number): void {
    const { starts, ends, separators } = this
    this.count = count
    this.digits = digits
    this.end = end
    for (let run = count; run < count + EMPTY_RUNS; run++) {
      starts[run] = end
      ends[run] = end
      separators[run] = 0
    }
  }

  #grown(): this {
    this.starts = twice(this.starts)
    this.ends = twice(this.ends)
    this.separators = twice(this.separators)
    return this
  }
}

/** Detectors look so far behind the run that they read. */
const EMPTY_RUNS = 2

export const isDigit = (code: number | undefined): boolean => code !== undefined && code >= 48 && code <= 57

function twice(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * numbers.length)
  larger.set(numbers)
  return larger
}

function endOfGap(codes: Uint16Array, from: number): number {
  let [at, size, before] = [from, 0, 0]
  for (; at < codes.length; at++) {
    const mark = gapOf(codes[at]!)
    if (mark === before) continue
    if (mark === 0 || size === GAP_MAX) break
    before = mark
    size++
  }
  return at
}

/** Blanks beside a mark say nothing, nor does a mark that is repeated; blanks alone are a separator. */
function separatorOf(codes: Uint16Array, start: number, end: number): number {
  let [separator, before] = [0, 0]
  for (let at = start; at < end; at++) {
    const mark = gapOf(codes[at]!)
    if (mark === BLANK || mark === before) continue
    separator = separator * MARKS + mark
    before = mark
  }
  const width = end - start > GAP_MAX ? WIDE : 0
  return (separator === 0 ? BLANK : separator) + width
}

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
