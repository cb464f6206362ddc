// A text as detectors read it: digits and letters of other scripts and styles as ASCII, without what nobody sees, entities
// decoded, tags of HTML left out. One pass over the codes of what is given; each character knows where it stood, so that
// findings can be shown in place.
import { codesOf, textOf, type Codes } from './characters.ts'
import { codePointOfEntity } from './entities.ts'
import { endOfPlain, folding, isFolded } from './folding.ts'
import { tagAt } from './tags.ts'

export interface View extends Codes {
  /** Where a character of it stood in what was given. */
  placeOf(index: number): number
}

/** Most of what is given has nothing in it that is read otherwise than it stands. */
const OTHERWISE = /[^\0-\x7f]|&[#a-z]/

export function viewOf(given: string): View {
  if (!OTHERWISE.test(given)) return { ...codesOf(given), placeOf: index => index }
  const read = codesOf(given)
  const writing = new Writing(read.codes.length)
  fold(read, { from: 0, to: given.length, isHtml: false }, writing)
  return writing.view()
}

/** What a reader is shown, and what leaves with the mail besides: attributes, comments, scripts and styles. */
export function viewsOfHtml(given: string): { shown: View; unseen: View } {
  const read = codesOf(given)
  const { length } = read.codes
  // A tag is written besides with a line of its own, and is longer than that.
  const [shown, unseen] = [new Writing(length), new Writing(length + Math.ceil(length / BARE_TAG_CHARS_MAX))]
  const unclosed = new Set<string>()
  for (let at = 0; at < length;) {
    at = fold(read, { from: at, to: length, isHtml: true }, shown)
    if (at === length) break
    const tag = tagAt(read, at, unclosed)
    if (tag === null) {
      shown.put(LESS, at)
      at += 1
      continue
    }
    if (tag.isBreaking) shown.put(NEW_LINE, at)
    // Names of tags alone say nothing.
    if (tag.end - at > BARE_TAG_CHARS_MAX) {
      fold(read, { from: at, to: tag.end, isHtml: false }, unseen)
      unseen.put(NEW_LINE, at)
    }
    at = tag.end
  }
  return { shown: shown.view(), unseen: unseen.view() }
}

const BARE_TAG_CHARS_MAX = 14
const [NEW_LINE, AMPERSAND, LESS] = [10, 38, 60]

/** Below, the call costs more than the loop. */
const COPIED_ONE_BY_ONE_MAX = 48

/** Characters that were written, and for each stretch of them that stood together where it stood. */
class Writing {
  readonly #codes: Uint16Array
  #length = 0
  /** Place of a character less its index: the same for all that stood together. */
  #shift = 0
  readonly #starts: number[] = [0]
  readonly #shifts: number[] = [0]

  /** Nothing that is folded is longer than before. */
  constructor(lengthMax: number) {
    this.#codes = new Uint16Array(lengthMax)
  }

  /** As they stood, together. */
  copy(codes: Uint16Array, from: number, to: number): void {
    if (to === from) return
    this.#mark(from)
    if (to - from < COPIED_ONE_BY_ONE_MAX) for (let at = from; at < to; at++) this.#codes[this.#length++] = codes[at]!
    else {
      this.#codes.set(codes.subarray(from, to), this.#length)
      this.#length += to - from
    }
  }

  put(code: number, place: number): void {
    this.#mark(place)
    this.#codes[this.#length++] = code
  }

  /** What is written next stood here. */
  #mark(place: number): void {
    const shift = place - this.#length
    if (shift === this.#shift) return
    this.#shift = shift
    this.#starts.push(this.#length)
    this.#shifts.push(shift)
  }

  view(): View {
    const [starts, shifts] = [this.#starts, this.#shifts]
    const placeOf = (index: number): number => {
      let [low, high] = [0, starts.length - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (starts[middle]! <= index) low = middle
        else high = middle - 1
      }
      return shifts[low]! + index
    }
    const codes = this.#codes.subarray(0, this.#length)
    return { text: textOf(codes), codes, placeOf }
  }
}

/** Writes what the characters are read as; answers where it ended: at a `<` of HTML, or behind the last. */
function fold(read: Codes, { from, to, isHtml }: { from: number; to: number; isHtml: boolean }, writing: Writing) {
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

/** In the place of what it stands for. */
function write(folded: string, place: number, writing: Writing): void {
  for (let at = 0; at < folded.length; at++) writing.put(folded.charCodeAt(at), place + at)
}
