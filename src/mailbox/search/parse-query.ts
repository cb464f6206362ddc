// What a person types into the search field, as a value: words, phrases in quotation marks, `-word`, `or`, and operators such
// as `from:ann`. What follows an operator that does not exist is read as words (`12:30`, `https://…`); an operator that exists
// and makes no sense is refused by its name.
import { refuse, type Refusal } from '../../platform/refusal.ts'
import { compoundsOf, type Compound } from './lexemes.ts'

export interface Query {
  /** All of these hold. */
  groups: Group[]
}

/** One of these holds. */
export type Group = { kind: 'words'; any: Words[] } | { kind: 'filter'; any: Filter[] }

export interface Words {
  isNegated: boolean
  field: 'subject' | 'from' | 'to' | null
  compounds: Compound[]
  /** The last word, which may still be being typed: what begins with it counts. */
  isPrefix: boolean
}

export interface Filter {
  isNegated: boolean
  by:
    | { kind: 'attachment' }
    | { kind: 'label'; label: string }
    | { kind: 'folder'; name: string }
    | { kind: 'before' | 'after'; time: Date }
}

/** Nobody types more; each is a look into the index. */
const TERMS_MAX = 50
/** Of all terms, with the pairs of characters of scripts without spaces. */
const SEGMENTS_MAX = 200

const OPERATOR = /^(from|to|subject|has|before|after|label|in):/i

export function parseQuery(q: string): Query {
  const pieces = piecesOf(q)
  const groups: Group[] = []
  let segments = 0
  pieces.forEach((piece, index) => {
    if (isOr(pieces, index)) return
    const term = termOf(piece, index === pieces.length - 1)
    if (!term) return
    if (term.kind === 'words') segments += segmentCount(term.any)
    const last = groups.at(-1)
    if (!last || !isOr(pieces, index - 1)) groups.push(term)
    else join(last, term)
  })
  if (groups.length === 0) throw invalid('q has no word to search for.')
  if (pieces.length > TERMS_MAX || segments > SEGMENTS_MAX)
    throw invalid(`q has too many words: at most ${TERMS_MAX} are searched for at once.`)
  return { groups }
}

function join(group: Group, term: Group): void {
  if (group.kind === 'words' && term.kind === 'words') group.any.push(term.any[0]!)
  else if (group.kind === 'filter' && term.kind === 'filter') group.any.push(term.any[0]!)
  else throw invalid('or in q stands between words, or between operators of messages (has, before, after, label, in).')
}

interface Piece {
  isNegated: boolean
  operator: string | null
  text: string
  isQuoted: boolean
}

/** From left to right, each character once. A quotation mark without its twin reaches to the end. */
function piecesOf(q: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  while (at < q.length) {
    if (/\s/.test(q[at]!)) {
      at += 1
      continue
    }
    const isNegated = q[at] === '-' && /[^\s-]/.test(q.charAt(at + 1))
    if (isNegated) at += 1
    const operator = OPERATOR.exec(q.slice(at, at + 9))?.[1] ?? null
    if (operator) at += operator.length + 1
    const isQuoted = q[at] === '"'
    const end = isQuoted ? indexOrEnd(q, /"/g, at + 1) : indexOrEnd(q, /[\s"]/g, at)
    pieces.push({
      isNegated,
      operator: operator?.toLowerCase() ?? null,
      text: q.slice(isQuoted ? at + 1 : at, end),
      isQuoted,
    })
    at = isQuoted ? end + 1 : end
  }
  return pieces
}

function indexOrEnd(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** Between two others. At either end it is a word. */
const isOr = (pieces: readonly Piece[], index: number): boolean => {
  const piece = pieces[index]
  const isWord = piece && !piece.isNegated && !piece.operator && !piece.isQuoted && /^or$|^\|{1,2}$/i.test(piece.text)
  return Boolean(isWord) && index > 0 && index < pieces.length - 1
}

/** Null: it has nothing in it that could be searched for, such as a lone dash. */
function termOf({ isNegated, operator, text, isQuoted }: Piece, isLast: boolean): Group | null {
  switch (operator) {
    case null:
    case 'from':
    case 'to':
    case 'subject': {
      const compounds = compoundsOf(text)
      if (operator && compounds.length === 0) throw needsValue(operator)
      const isPrefix = isLast && !isQuoted && !isNegated && isLongEnough(compounds)
      return compounds.length > 0 ? { kind: 'words', any: [{ isNegated, field: operator, compounds, isPrefix }] } : null
    }
    case 'has':
      if (!/^attachments?$/i.test(text)) throw invalid('has: in q takes the one value attachment.')
      return { kind: 'filter', any: [{ isNegated, by: { kind: 'attachment' } }] }
    case 'label':
      return { kind: 'filter', any: [{ isNegated, by: { kind: 'label', label: valueOf(operator, text) } }] }
    case 'in':
      return { kind: 'filter', any: [{ isNegated, by: { kind: 'folder', name: valueOf(operator, text) } }] }
    case 'before':
    case 'after':
      return { kind: 'filter', any: [{ isNegated, by: { kind: operator, time: dayOf(operator, text) } }] }
    default:
      throw new Error(`no such operator: ${operator}`)
  }
}

/** Two letters begin a tenth of all words there are. */
const PREFIX_CHARS_MIN = 3

const isLongEnough = (compounds: readonly Compound[]): boolean =>
  (compounds.at(-1)?.segments.at(-1)?.text.length ?? 0) >= PREFIX_CHARS_MIN

/** As labels and folders are stored: composed, and without half characters. */
function valueOf(operator: string, text: string): string {
  const value = text.toWellFormed().normalize('NFC').trim()
  if (value === '') throw needsValue(operator)
  return value
}

const DAY = /^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/i

/** A day begins at midnight UTC; a month or a year with its first day. */
function dayOf(operator: string, text: string): Date {
  const isTime = TIME.test(text)
  const day = DAY.exec(isTime ? text.slice(0, 'yyyy-mm-dd'.length) : text)
  const [year, month, date] = day ? [Number(day[1]), Number(day[2] ?? 1), Number(day[3] ?? 1)] : [0, 0, 0]
  const midnight = new Date(Date.UTC(year, month - 1, date))
  const isReal = midnight.getUTCMonth() === month - 1 && midnight.getUTCDate() === date && year >= 100
  const time = isTime ? new Date(text) : midnight
  if (!day || !isReal || Number.isNaN(time.getTime()))
    throw invalid(`${operator}: in q takes a day such as 2026-11-16, a month, a year, or a time with its zone.`)
  return time
}

const segmentCount = (words: readonly Words[]): number =>
  words.reduce((sum, { compounds }) => sum + compounds.reduce((count, each) => count + lengthOf(each), 0), 0)

const lengthOf = ({ segments }: Compound): number =>
  segments.reduce((sum, { text, isDense }) => sum + (isDense ? text.length : 1), 0)

const needsValue = (operator: string): Refusal => invalid(`${operator}: in q needs a value right behind it.`)

const invalid = (message: string): Refusal => refuse('invalid_request', message)
