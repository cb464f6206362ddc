// A text as detectors read it: digits and letters of other scripts and styles as ASCII, without what nobody sees, entities
// decoded, tags of HTML left out. One pass over what is given; each character knows where it stood, so that findings can be
// shown in place.
import { codePointOfEntity } from './entities.ts'

export interface View {
  text: string
  /** Where a character of it stood in what was given. */
  placeOf(index: number): number
}

export function viewOf(given: string): View {
  FOLDED.lastIndex = 0
  if (!FOLDED.test(given)) return { text: given, placeOf: index => index }
  const writing = new Writing(given)
  let copied = 0
  FOLDED.lastIndex = 0
  for (let found = FOLDED.exec(given); found; found = FOLDED.exec(given)) {
    copied = FOLDED.lastIndex = fold(given, { found, copied }, writing)
  }
  writing.copy(copied, given.length)
  return writing.view()
}

/** What a reader is shown, and what leaves with the mail besides: attributes, comments, scripts and styles. */
export function viewsOfHtml(given: string): { shown: View; unseen: View } {
  const [shown, unseen] = [new Writing(given), new Writing(given)]
  const unclosed = new Set<string>()
  let copied = 0
  FOLDED_OR_TAG.lastIndex = 0
  for (let found = FOLDED_OR_TAG.exec(given); found; found = FOLDED_OR_TAG.exec(given)) {
    const at = found.index
    if (found[0] !== '<') copied = fold(given, { found, copied }, shown)
    else {
      const tag = tagAt(given, at, unclosed)
      if (tag.isText) continue
      shown.copy(copied, at)
      if (tag.isBreaking) shown.put('\n', at)
      // Names of tags alone say nothing.
      if (tag.end - at > BARE_TAG_CHARS_MAX) {
        unseen.copy(at, tag.end)
        unseen.put('\n', at)
      }
      copied = tag.end
    }
    FOLDED_OR_TAG.lastIndex = Math.max(copied, at + 1)
  }
  shown.copy(copied, given.length)
  const raw = unseen.view()
  const folded = viewOf(raw.text)
  return { shown: shown.view(), unseen: { text: folded.text, placeOf: index => raw.placeOf(folded.placeOf(index)) } }
}

const BARE_TAG_CHARS_MAX = 14

/** Text in pieces, each of which stood somewhere. */
class Writing {
  readonly #given: string
  readonly #pieces: string[] = []
  /** Where each piece begins in the text, and where it stood. */
  readonly #starts: number[] = []
  readonly #places: number[] = []
  #length = 0

  constructor(given: string) {
    this.#given = given
  }

  /** A piece that stands for something else has the place of that. */
  put(piece: string, place: number): void {
    this.#pieces.push(piece)
    this.#starts.push(this.#length)
    this.#places.push(place)
    this.#length += piece.length
  }

  copy(start: number, end: number): void {
    if (end > start) this.put(this.#given.slice(start, end), start)
  }

  view(): View {
    const [starts, places] = [this.#starts, this.#places]
    const placeOf = (index: number): number => {
      let [low, high] = [0, starts.length - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (starts[middle]! <= index) low = middle
        else high = middle - 1
      }
      return (places[low] ?? 0) + Math.max(0, index - (starts[low] ?? 0))
    }
    return { text: this.#pieces.join(''), placeOf }
  }
}

/** Letters of other scripts have no ASCII form and stay: they only keep digits apart. */
const FOLDED = new RegExp(
  [
    String.raw`&(?=[#a-z])|[[\p{Nd}\p{Cf}\p{Mn}\p{Me}\p{Zs}\p{Pd}\p{No}\u2028\u2029\u0085\u2212\u02d7\u2043\u00ba\u00aa`,
    String.raw`\u24b6-\u24e9\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f189}]--\p{ASCII}]`,
  ].join(''),
  'gv',
)
const FOLDED_OR_TAG = new RegExp(`<|${FOLDED.source}`, 'gv')

/** Writes what stands before a character or an entity, and what that is read as; answers where it ends. */
function fold(given: string, { found, copied }: { found: RegExpExecArray; copied: number }, writing: Writing): number {
  const at = found.index
  const entity = found[0] === '&' ? codePointOfEntity(given, at) : null
  writing.copy(copied, at)
  // An ampersand that begins no entity is written with what follows.
  if (found[0] === '&' && !entity) {
    writing.copy(at, at + 1)
    return at + 1
  }
  const folded = folding(entity ? String.fromCodePoint(entity.codePoint) : found[0])
  if (folded !== '') writing.put(folded, at)
  return entity ? entity.end : at + found[0].length
}

interface Tag {
  end: number
  /** A reader sees a break. */
  isBreaking: boolean
  /** It is a `<` that begins no tag. */
  isText: boolean
}

const NAME = /([/!?]?)([a-z][a-z0-9]*)/iy
/** The others stand within a word. */
const BREAKING = new Set(
  (
    'address article aside blockquote br caption dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li ' +
    'main nav ol p pre section table tbody td tfoot th thead tr ul'
  ).split(' '),
)
/** Their content is not shown. */
const HIDING = new Set(['script', 'style', 'title', 'template'])

function tagAt(given: string, opening: number, unclosed: Set<string>): Tag {
  if (given.startsWith('<!--', opening)) {
    return { end: endOf(given, '-->', opening + 4), isBreaking: false, isText: false }
  }
  NAME.lastIndex = opening + 1
  const found = NAME.exec(given)
  if (!found) return { end: opening + 1, isBreaking: false, isText: true }
  const end = endOf(given, '>', opening + 1)
  const name = found[2]!.toLowerCase()
  const isHiding = found[1] === '' && HIDING.has(name)
  return {
    end: isHiding ? endOfHidden(given, { name, end }, unclosed) : end,
    isBreaking: BREAKING.has(name),
    isText: false,
  }
}

/** An element that is never closed hides nothing here: what follows is read as if the tag were not there. */
function endOfHidden(given: string, { name, end }: { name: string; end: number }, unclosed: Set<string>): number {
  // Looking once is enough: ten thousand open tags must not read the rest ten thousand times.
  if (unclosed.has(name)) return end
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = end
  const found = closing.exec(given)
  if (!found) unclosed.add(name)
  return found ? endOf(given, '>', found.index) : end
}

const indexOrEnd = (given: string, mark: string, from: number): number => {
  const found = given.indexOf(mark, from)
  return found === -1 ? given.length : found
}

const endOf = (given: string, mark: string, from: number): number =>
  Math.min(given.length, indexOrEnd(given, mark, from) + mark.length)

const folds = new Map<string, string>()
/** Characters that fold are some thousands; entities can name any. */
const FOLDS_MAX = 20_000

function folding(character: string): string {
  let folded = folds.get(character)
  if (folded === undefined) {
    folded = foldAnew(character)
    if (folds.size < FOLDS_MAX) folds.set(character, folded)
  }
  return folded
}

/** Nothing, where nobody sees it. */
function foldAnew(character: string): string {
  if (character.charCodeAt(0) < 128) return character
  if (/[\p{Cf}\p{Mn}\p{Me}]/u.test(character)) return ''
  if (/[\p{Zs}\u2028\u2029\u0085]/u.test(character)) return ' '
  if (/[\p{Pd}\u2212\u02d7\u2043]/u.test(character)) return '-'
  if (/\p{Nd}/u.test(character)) return String(digitValue(character))
  const plain = character.normalize('NFKC')
  return plain.length === 1 && plain.charCodeAt(0) < 128 ? plain : character
}

/** Decimal digits of a script stand in a row, from zero to nine; styles of one script stand row behind row. */
function digitValue(digit: string): number {
  const plain = digit.normalize('NFKC')
  if (/^[0-9]$/.test(plain)) return Number(plain)
  const codePoint = digit.codePointAt(0)!
  let before = 0
  while (before < 50 && /\p{Nd}/u.test(String.fromCodePoint(codePoint - before - 1))) before++
  return before % 10
}
