// A text as detectors read it: digits and letters of other scripts and styles as ASCII, without what nobody sees, entities
// decoded. One pass over the codes of what is given; each character knows where it stood, so that
// findings can be shown in place.
import { codesOf, textOf, type Codes } from './characters.ts'
import { codePointOfEntity } from './entities.ts'
import { endOfPlain, folding, isFolded, readingOf } from './folding.ts'

export interface View extends Codes {
  /** Where a character of it stood in what was given. */
  positionOf(index: number): number
}

export function viewOf(given: string): View {
  const read = codesOf(given)
  if (isPlain(read)) return { ...read, positionOf: index => index }
  const folded = (marks: Marks | null): Writing => {
    const writing = new Writing(read.codes.length, marks)
    fold(read, { from: 0, to: given.length, isHtml: false }, writing)
    return writing
  }
  return folded(null).view(marks => void folded(marks))
}

const [AMPERSAND, LESS] = [38, 60]

/** Most of what is given has nothing in it that is read otherwise than it stands. */
function isPlain(read: Codes): boolean {
  const { codes, text } = read
  if (Buffer.byteLength(text) !== text.length) return false
  // Without a branch: every character of every text is looked at.
  let all = 0
  for (let at = 0; at < codes.length; at++) all |= kinds[codes[at]!]!
  if ((all & UNSEEN) !== 0) return false
  for (let at = (all & ENTITY) === 0 ? -1 : text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (codePointOfEntity(read, at)) return false
  }
  return true
}

const [UNSEEN, ENTITY] = [1, 2]
/** Of ASCII: control characters that nobody sees, and what may begin an entity. */
const kinds = new Uint8Array(128).fill(UNSEEN, 0, 9).fill(UNSEEN, 14, 32).fill(UNSEEN, 127)
kinds[AMPERSAND] = ENTITY

/** Below, the call costs more than the loop. */
const COPIED_ONE_BY_ONE_MAX = 48

/** For each run of characters that stood together where it stood. */
export class Marks {
  /** Place of a character less its index: the same for all that stood together. */
  #shift = 0
  readonly #starts: number[] = [0]
  readonly #shifts: number[] = [0]

  /** What is written from this index on stood here. */
  add(index: number, position: number): void {
    const shift = position - index
    if (shift === this.#shift) return
    this.#shift = shift
    this.#starts.push(index)
    this.#shifts.push(shift)
  }

  positionOf(index: number): number {
    let [low, high] = [0, this.#starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#starts[middle]! <= index) low = middle
      else high = middle - 1
    }
    return this.#shifts[low]! + index
  }
}

/** Characters that were written. */
export class Writing {
  readonly #codes: Uint16Array
  readonly #marks: Marks | null
  #length = 0

  /** Nothing that is folded is longer than before. */
  constructor(lengthMax: number, marks: Marks | null) {
    this.#codes = new Uint16Array(lengthMax)
    this.#marks = marks
  }

  /** As they stood, together. */
  copy(codes: Uint16Array, from: number, to: number): void {
    if (to === from) return
    this.#marks?.add(this.#length, from)
    if (to - from < COPIED_ONE_BY_ONE_MAX) {
      const written = this.#codes
      let length = this.#length
      for (let at = from; at < to; at++) written[length++] = codes[at]!
      this.#length = length
    } else {
      this.#codes.set(codes.subarray(from, to), this.#length)
      this.#length += to - from
    }
  }

  put(code: number, position: number): void {
    this.#marks?.add(this.#length, position)
    this.#codes[this.#length++] = code
  }

  /** The last one that was written. */
  get last(): number {
    return this.#length === 0 ? 0 : this.#codes[this.#length - 1]!
  }

  /** Positions are asked for where something was found, and then only is everything written again to know them. */
  view(writeAgain: (marks: Marks) => void): View {
    let known: Marks | null = null
    const codes = this.#codes.subarray(0, this.#length)
    const positionOf = (index: number): number => {
      if (known === null) writeAgain((known = new Marks()))
      return known.positionOf(index)
    }
    return { text: textOf(codes), codes, positionOf }
  }
}

/** Writes what the characters are read as; answers where it ended: at a `<` of HTML, or behind the last. */
export function fold(
  read: Codes,
  { from, to, isHtml }: { from: number; to: number; isHtml: boolean },
  writing: Writing,
) {
  const { codes } = read
  let at = from
  while (at < to) {
    const start = at
    at = endOfPlain(codes, at, to)
    writing.copy(codes, start, at)
    if (at === to) break
    const code = codes[at]!
    if (code === LESS) {
      if (isHtml) return at
      writing.put(code, at++)
    } else if (code === AMPERSAND) at = foldEntity(read, at, writing)
    else at = foldCharacter(read, at, writing)
  }
  return at
}

function foldCharacter(read: Codes, at: number, writing: Writing): number {
  const reading = readingOf(read.codes[at]!)
  if (reading !== null) {
    if (reading !== -1) writing.put(reading, at)
    return at + 1
  }
  const codePoint = read.text.codePointAt(at)!
  const end = at + (codePoint > 0xffff ? 2 : 1)
  if (isFolded(codePoint)) write(folding(codePoint), at, writing)
  else writing.copy(read.codes, at, end)
  return end
}

/** An ampersand that begins no entity is written as it stands. Answers where what was written ends. */
function foldEntity(read: Codes, at: number, writing: Writing): number {
  const entity = codePointOfEntity(read, at)
  if (!entity) {
    writing.put(AMPERSAND, at)
    return at + 1
  }
  write(folding(entity.codePoint), at, writing)
  return entity.end
}

/** At the position of what it stands for. */
function write(folded: string, position: number, writing: Writing): void {
  for (let at = 0; at < folded.length; at++) writing.put(folded.charCodeAt(at), position + at)
}
