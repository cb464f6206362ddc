// The original within a reply or a forward. Its HTML was sanitised when it was filed: every tag that it opens it closes, so
// that it cannot break out of its quotation. Generators, because a million lines take a tenth of a second: they yield where
// others may go on.
import { escapeHtml } from '../../mail/text/escape-html.ts'
import { TEXT_BYTES_MAX } from '../../sending/messages/limits.ts'
import type { Original, OriginalTexts } from './original.ts'

interface Said {
  text: string | null
  html: string | null
}

/**
 * A quotation is for the reader's memory; longer ones are cut. HTML cannot be cut: it is left out where it is longer, or where
 * the mail would be larger than it may be.
 */
const TEXT_CHARS_MAX = 1_000_000
const HTML_CHARS_MAX = 4_000_000

/** A reply without a body of its own: the original under a line that says whose it is. */
export function* quotedBody(original: Original, texts: OriginalTexts | null): Generator<void, Said> {
  const who = shortened(original.fromText) || 'somebody'
  const line = `On ${dateOf(original)}, ${who} wrote:`
  const text = `\n\n${line}\n${yield* quotedLines(cut(texts?.text ?? '', TEXT_CHARS_MAX))}\n`
  const html = quotable(texts?.html ?? null)
  const quoted = html && `<br><br><div>${escapeHtml(line)}</div>\n<blockquote type="cite">${html}</blockquote>\n`
  return { text, html: fits(text, quoted) ? quoted : null }
}

/**
 * Whatever a program on the way, or a reader, may take for the end of a line: what stands behind it without a mark would be
 * our own words. A bare CR becomes CRLF when the mail is written; of the other controls some end a line in Unicode (UAX 14),
 * some in libraries, and none but the tab belongs into a text.
 */
const LINE_BREAK = /\r\n?|[[\p{Cc}\u2028\u2029]--\t]/v

/** About a millisecond, if all of it is line breaks or must be escaped. */
const SLICE_CHARS = 16 * 1024

function* quotedLines(text: string): Generator<void, string> {
  const parts: string[] = []
  for (let start = 0; start <= text.length;) {
    if (start > 0) yield
    const { end, next } = breakFrom(text, start + SLICE_CHARS)
    const lines = text.slice(start, end).split(LINE_BREAK)
    parts.push(lines.map(each => `> ${each.trimEnd()}`).join('\n'))
    start = next
  }
  return parts.join('\n')
}

/** The first line break from there on, or the end of the text. */
function breakFrom(text: string, from: number): { end: number; next: number } {
  const breaks = new RegExp(LINE_BREAK, 'gv')
  // A line break of two characters is not divided.
  breaks.lastIndex = text[from] === '\n' && text[from - 1] === '\r' ? from - 1 : from
  const found = breaks.exec(text)
  return found ? { end: found.index, next: breaks.lastIndex } : { end: text.length, next: text.length + 1 }
}

/** What the caller says, who wrote what when, and the original. */
export function* forwardedBody(original: Original, texts: OriginalTexts | null, said: Said): Generator<void, Said> {
  const fields = fieldsOf(original)
  const block = [HEADING, ...fields.map(([name, value]) => `${name}: ${value}`)]
  const quoted = cut(texts?.text ?? '', quotedCharsMax(said))
  const allText = [...(said.text === null ? [] : [said.text, '']), ...block, '', quoted, ''].join('\n')
  const text = said.text === null && said.html !== null ? null : allText
  const rows = fields.map(([name, value]) => `<div><b>${name}:</b> ${escapeHtml(value)}</div>`).join('\n')
  const htmlOf = (own: string, original: string): string =>
    [own, `<br><div>${escapeHtml(HEADING)}</div>`, rows, '<br>', `<div>${original}</div>`, ''].join('\n')
  const html = quotable(texts?.html ?? null)
  const isShort = said.html !== null || (said.text?.length ?? 0) <= TEXT_CHARS_MAX
  // Asked before the text of the caller is made HTML, which may be five times as long.
  if (html !== null && isShort && fits(text, html, said.html ?? said.text)) {
    const whole = htmlOf(said.html ?? (yield* asHtml(said.text ?? '')), html)
    if (fits(text, whole)) return { text, html: whole }
  }
  return { text, html: said.html === null ? null : htmlOf(said.html, yield* asHtml(quoted)) }
}

const fits = (...parts: (string | null)[]): boolean =>
  parts.reduce((sum, part) => sum + Buffer.byteLength(part ?? ''), 0) <= TEXT_BYTES_MAX

/** The lines above the original: five fields of 2,000 characters, in text and in HTML. */
const HEAD_BYTES_MAX = 100_000
/** Of one character that is quoted: three in the text, and five in the HTML where it must be escaped. */
const QUOTED_CHAR_BYTES = 3 + 5

/** What the caller says comes first; what is left is the original's. */
function quotedCharsMax({ text, html }: Said): number {
  const left = TEXT_BYTES_MAX - HEAD_BYTES_MAX - Buffer.byteLength(text ?? '') - Buffer.byteLength(html ?? '')
  return Math.min(TEXT_CHARS_MAX, Math.max(0, Math.floor(left / QUOTED_CHAR_BYTES)))
}

const HEADING = '---------- Forwarded message ----------'

const fieldsOf = (original: Original): (readonly [name: string, value: string])[] =>
  [
    ['From', original.fromText],
    ['Date', dateOf(original)],
    ['Subject', original.subject],
    ['To', original.toText],
    ['Cc', original.ccText],
  ]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => [name!, shortened(value!)] as const)

const FIELD_CHARS_MAX = 2_000

/** One line each: a name with a line break in it would make a field of its own. */
const shortened = (value: string): string => {
  const line = value.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  return line.length > FIELD_CHARS_MAX ? `${line.slice(0, FIELD_CHARS_MAX).toWellFormed()}…` : line
}

const dateOf = ({ at }: Original): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

const cut = (text: string, charsMax: number): string =>
  text.length > charsMax ? `${text.slice(0, charsMax).toWellFormed()}\n[…]` : text

const quotable = (html: string | null): string | null => (html !== null && html.length <= HTML_CHARS_MAX ? html : null)

function* asHtml(text: string): Generator<void, string> {
  const parts: string[] = []
  for (let start = 0; start < text.length; start += SLICE_CHARS) {
    if (start > 0) yield
    parts.push(escapeHtml(text.slice(start, start + SLICE_CHARS)))
  }
  return `<div style="white-space:pre-wrap">${parts.join('')}</div>`
}
