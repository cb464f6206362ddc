// What is new in a mail: its text without the history below or above it and without the signature. A cut is made only where
// a client's own mark stands, because new text that is cut away is worse than old text that is shown twice. One pass over
// the lines, each looked at with a few of its neighbours.
import type { TextLine } from './html-text.ts'
import {
  attributionCertainty,
  closesAttribution,
  isDatedAuthor,
  isDatedOpening,
  opensWithAttribution,
} from './attribution.ts'
import * as words from './reply-words.ts'

interface Extracted {
  text: string
  /** Whether history was found and left out. */
  hasHistory: boolean
}

const LINES_MAX = 10_000 // searched for marks; of a longer mail the rest is taken to be text and quotes
const LINE_CHARS_MAX = 500 // no client writes a longer mark

type Kind = 'text' | 'empty' | 'quote' | 'attribution' | 'history' | 'signature'

interface Line {
  /** As it is shown. */
  text: string
  kind: Kind
  /** Of an attribution: its date or address leaves no doubt. */
  isCertain: boolean
}

/** What is new in plain text. */
export function extractFromText(text: string): Extracted {
  const lines = text.replaceAll(/\r\n?/g, '\n').split('\n')
  return extract(
    lines.map((line, at) => ({
      text: line,
      kind: /^ {0,3}>/.test(line) && !closesAddress(lines, at) ? 'quote' : kindOfUnquoted(line),
      isCertain: false,
    })),
  )
}

/** `> wrote:` below `On Monday Ann <ann@example.com`: the bracket closes the address, and quotes nothing. */
function closesAddress(lines: readonly string[], at: number): boolean {
  const above = lines[at - 1]?.slice(-LINE_CHARS_MAX) ?? ''
  return (
    /^>[\s*_]{0,3}(?:[\p{L}()]{1,20} ?){0,3}[:：]\s{0,3}$/u.test(lines[at]!) &&
    above.lastIndexOf('<') > above.lastIndexOf('>')
  )
}

/** What is new in the lines of an HTML page. */
export function extractFromHtml(lines: readonly TextLine[]): Extracted {
  return extract(
    lines.map(({ text, depth, mark }) => {
      if (depth > 0) return { text: `${'>'.repeat(depth)} ${text}`, kind: 'quote', isCertain: false }
      if (mark === 'signature') return { text, kind: text.trim() === '' ? 'empty' : 'signature', isCertain: true }
      if (mark === 'attribution') return { text, kind: 'attribution', isCertain: true }
      return { text, kind: kindOfUnquoted(text), isCertain: false }
    }),
  )
}

const kindOfUnquoted = (line: string): Kind => (line.trim() === '' ? 'empty' : 'text')

function extract(all: Line[]): Extracted {
  const searched = all.slice(0, LINES_MAX)
  const rest = all.slice(LINES_MAX)
  if (rest.length === 0) dropListFooter(searched)
  markAttributions(searched)
  markHistory(searched)
  const lines = searched.concat(rest)
  const kept = withoutHistory(lines)
  return {
    text: trimmed(withoutSignature(kept))
      .map(({ text }) => text)
      .join('\n'),
    hasHistory: kept.length < lines.length,
  }
}

const LIST_FOOTER_LINES_MAX = 8

/** A mailing list's program puts a line of underscores and its address under everybody's mail. */
function dropListFooter(lines: Line[]): void {
  const from = Math.max(0, lines.length - LIST_FOOTER_LINES_MAX)
  const rule = lines.findIndex(({ text }, at) => at >= from && /^_{20,}\s*$/.test(text))
  if (
    rule > 0 &&
    lines.slice(rule + 1).some(({ text }) => words.LIST_FOOTER_PATTERN.test(text.slice(0, LINE_CHARS_MAX)))
  ) {
    lines.length = rule
  }
}

const ATTRIBUTION_LINES_MAX = 4

/** Lines like `On Monday, Ann wrote:`, also folded over several lines. They lose their text, which is nobody's words. */
function markAttributions(lines: Line[]): void {
  for (const [end, line] of lines.entries()) {
    if (line.kind !== 'text' || line.text.length > LINE_CHARS_MAX || !closesAttribution(line.text)) continue
    let joined = ''
    let opening: number | null = null
    let isCertain = false
    for (let start = end; start >= 0 && end - start < ATTRIBUTION_LINES_MAX; start--) {
      const first = lines[start]!
      if (first.kind !== 'text' || first.text.length > LINE_CHARS_MAX) break
      joined = `${first.text} ${joined}`
      if (joined.length > LINE_CHARS_MAX) break
      const found = attributionCertainty(joined) ?? (start === end && isDatedAuthor(first.text) ? false : null)
      // A line that begins with a date opens the attribution, also where the lines below it would be one already.
      if (found === null || (opening !== null && !isDatedOpening(first.text))) continue
      opening = start
      isCertain = found
    }
    // A sentence that only looks like one is the author's, unless a quote follows.
    if (opening === null || (!isCertain && !isQuoteBelow(lines, end))) continue
    for (let at = opening; at <= end; at++) lines[at] = { text: '', kind: 'attribution', isCertain }
  }
}

function isQuoteBelow(lines: readonly Line[], at: number): boolean {
  let next = at + 1
  while (next < lines.length && next - at < ATTRIBUTION_LINES_MAX && lines[next]!.kind === 'empty') next++
  return lines[next]?.kind === 'quote'
}

const HEADER_LINES_MAX = 10

/** The header of a quoted message, and lines that part a message from what follows it. */
function markHistory(lines: Line[]): void {
  let above = ''
  for (const [at, line] of lines.entries()) {
    if (line.kind !== 'text' || line.text.length > LINE_CHARS_MAX) continue
    if (isParting(line.text) || (isAdded(above) && opensWithAttribution(line.text))) line.kind = 'history'
    else if (words.headerKindOf(line.text) !== null && isHeader(lines, at)) line.kind = 'history'
    above = line.text.trim()
  }
}

const isParting = (line: string): boolean =>
  words.isOriginalRule(line) || words.FORWARDED_PATTERN.test(line) || words.REPLY_ABOVE_PATTERN.test(line)

/** Three fields close together, who wrote it among them, and its subject or date. */
function isHeader(lines: readonly Line[], at: number): boolean {
  const kinds = new Set<string>()
  for (const { text, kind } of lines.slice(at, at + HEADER_LINES_MAX)) {
    if (kind === 'empty') {
      // Some clients put an empty line between all fields, none puts two.
      if (kinds.size >= 3) break
      continue
    }
    const found = kind === 'text' && text.length <= 2 * LINE_CHARS_MAX ? words.headerKindOf(text) : null
    // Nobody is called `10:30`: that is from when to when.
    if (found && !(found === 'from' && /^[^:：]*[:：][\s*_]*\d{1,2}\b/u.test(text))) kinds.add(found)
  }
  const first = words.headerKindOf(lines[at]!.text)
  if (first === 'other' || first === 'cc') return false
  return kinds.has('from') && (kinds.has('subject') || kinds.has('date')) && kinds.size >= 3
}

/** The lines that the author wrote, with quotes that are answered one by one. */
function withoutHistory(lines: readonly Line[]): Line[] {
  const below = lines.some(({ kind }) => kind === 'attribution') ? linesBelow(lines) : []
  const cut = lines.findIndex((line, at) => isCut(line, below[at]))
  const above = cut === -1 ? lines : lines.slice(0, cut)
  const hasText = above.some(({ kind }) => kind === 'text')
  if (cut !== -1 && !hasText) return belowOpening(lines)
  return withoutClosingQuote(above)
}

/**
 * Where history begins that goes on to the end: at a message's header or a parting line; at an attribution whose quote is
 * followed by no text of the author's; at one whose message is not marked as a quote, if nothing else it could be.
 */
function isCut({ kind, isCertain }: Line, below: Below | undefined): boolean {
  if (kind === 'history') return true
  if (kind !== 'attribution') return false
  if (!below?.next) return true
  if (below.next !== 'quote') return below.next === 'history' || (isCertain && !below.isAnswered)
  return !below.isAnswered
}

interface Below {
  /** The next line that is neither empty nor an attribution. */
  next: Kind | null
  /** Whether the author goes on behind quoted lines. */
  isAnswered: boolean
}

/** What stands below each line. From the end, so that it takes one pass, however many lines ask for it. */
function linesBelow(lines: readonly Line[]): Below[] {
  const below = Array.from<Below>({ length: lines.length })
  let next: Kind | null = null
  let isAnswered = false
  let hasText = false
  for (let at = lines.length - 1; at >= 0; at--) {
    below[at] = { next, isAnswered }
    const { kind, text } = lines[at]!
    if (kind !== 'empty' && kind !== 'attribution') next = kind
    if (kind === 'quote') isAnswered = hasText
    else if (kind === 'history' || isSignatureLine(text)) isAnswered = hasText = false
    else if (kind === 'text' && !isFooter(text)) hasText = true
  }
  return below
}

/** Lines that say nothing, such as rules drawn with signs, or words of a phone. */
const isFooter = (text: string): boolean => !SAID.test(text) || isAdded(text.slice(0, LINE_CHARS_MAX).trim())

/** Words, emoji, `???` and `:-)`. */
const SAID = /[\p{L}\p{N}\p{Extended_Pictographic}?!]|[:;=][-'^]?[)(\][/\\|*]/u

/** By a phone, or by a program that watches for opened mail: it hides behind a dot of a script that hardly anybody uses. */
const isAdded = (line: string): boolean =>
  line === '\u1427' || words.DEVICE_PATTERN.test(line.replaceAll(/ ?<https?:\/\/[^\s<>]*>/g, ''))

/** A mail that begins with history: the answer stands below it, or the mail is nothing but history that is passed on. */
function belowOpening(lines: readonly Line[]): Line[] {
  const first = lines.findIndex(({ kind }) => kind !== 'empty')
  const opening = lines[first]!
  if (opening.kind !== 'attribution') return lines.filter(({ kind }) => kind !== 'attribution')
  const rest = lines.slice(first).filter(({ kind }) => kind !== 'attribution')
  // What follows is not marked as a quote, so it may be what the author wants to say.
  return rest.find(({ kind }) => kind !== 'empty')?.kind === 'quote' ? [] : rest
}

/** Quotes at the end answer nothing; those at the beginning, under their attribution, are answered by all that follows. */
function withoutClosingQuote(lines: readonly Line[]): Line[] {
  const isQuote = ({ kind }: Line): boolean => kind === 'quote' || kind === 'empty' || kind === 'attribution'
  if (!lines.some(({ kind }) => kind === 'text')) return isQuotedHistory(lines) ? [] : [...lines]
  let start = 0
  if (lines.find(({ kind }) => kind !== 'empty')?.kind === 'attribution') {
    while (isQuote(lines[start]!)) start++
    // More quotes below: the author answers piece by piece, and the first piece belongs to the first answer.
    if (lines.slice(start).some(({ kind }) => kind === 'quote')) start = 0
  }
  let end = lines.length
  while (end > start && isQuote(lines[end - 1]!)) end--
  return lines.slice(start, end).filter(({ kind }) => kind !== 'attribution')
}

/** Nothing but a quote that begins with whose words it quotes: the author added none. */
function isQuotedHistory(lines: readonly Line[]): boolean {
  const first = lines.find(({ kind }) => kind !== 'empty')
  const text = first?.text.slice(0, LINE_CHARS_MAX).replace(/^[\s>]+/, '') ?? ''
  return first?.kind === 'attribution' || attributionCertainty(text) !== null
}

const SIGNATURE_LINES_MAX = 40
const SIGNATURE_CHARS_MAX = 4_000

const isSignatureLine = (text: string): boolean => /^\s{0,2}(?:--|—|–)\s?$/.test(text)

/** Without what stands below `-- ` or what a client marked, and without the line that a phone adds. */
function withoutSignature(lines: readonly Line[]): Line[] {
  const own = lines.filter(({ kind }) => kind !== 'signature')
  const kept = own.some(({ kind }) => kind === 'text') ? own : [...lines]
  // The mark of RFC 3676 §4.3 is hardly anything else; two dashes alone may part one thought from the next.
  const exact = kept.findIndex(({ text }) => text === '-- ')
  const at = exact > 0 ? exact : kept.findLastIndex(({ text, kind }) => kind === 'text' && isSignatureLine(text))
  const below = at === -1 ? [] : kept.slice(at + 1)
  const filled = below.filter(({ text }) => text.trim() !== '')
  const isShort =
    filled.length <= SIGNATURE_LINES_MAX &&
    filled.reduce((sum, { text }) => sum + text.length, 0) <= SIGNATURE_CHARS_MAX
  const hasTextAbove = kept.slice(0, Math.max(at, 0)).some(({ kind }) => kind === 'text')
  const isSignature = at !== -1 && hasTextAbove && isShort && !below.some(({ kind }) => kind === 'quote')
  return withoutFooter(isSignature ? kept.slice(0, at) : kept)
}

function withoutFooter(lines: readonly Line[]): Line[] {
  let end = lines.length
  while (end > 0 && isFooter(lines[end - 1]!.text)) end--
  return end === 0 ? [...lines] : lines.slice(0, end)
}

/** Without empty lines at both ends. */
function trimmed(lines: readonly Line[]): Line[] {
  const isFilled = ({ text }: Line): boolean => text.trim() !== ''
  return lines.slice(Math.max(lines.findIndex(isFilled), 0), lines.findLastIndex(isFilled) + 1)
}
