// The original within a reply or a forward. Its HTML was sanitised when it was filed: every tag that it opens it closes, so
// that it cannot break out of its quotation.
import { escapeHtml } from '../../mail/text/escape-html.ts'
import type { Original, OriginalTexts } from './original.ts'

interface Said {
  text: string | null
  html: string | null
}

/** A quotation is for the reader's memory; longer ones are cut. HTML cannot be cut and is left out. */
const TEXT_CHARS_MAX = 1_000_000
const HTML_CHARS_MAX = 4_000_000

/** A reply without a body of its own: the original under a line that says whose it is. */
export function quotedBody(original: Original, texts: OriginalTexts | null): Said {
  const who = original.fromText || 'somebody'
  const line = `On ${dateOf(original)}, ${who} wrote:`
  const lines = cut(texts?.text ?? '').split('\n')
  const text = `\n\n${line}\n${lines.map(each => `> ${each.trimEnd()}`).join('\n')}\n`
  const html = quotable(texts?.html ?? null)
  return {
    text,
    html: html && `<br><br><div>${escapeHtml(line)}</div>\n<blockquote type="cite">${html}</blockquote>\n`,
  }
}

/** What the caller says, who wrote what when, and the original. */
export function forwardedBody(original: Original, texts: OriginalTexts | null, said: Said): Said {
  const fields = fieldsOf(original)
  const block = [HEADING, ...fields.map(([name, value]) => `${name}: ${value}`)]
  const text = [...(said.text === null ? [] : [said.text, '']), ...block, '', cut(texts?.text ?? ''), ''].join('\n')
  const html = quotable(texts?.html ?? null)
  if (said.html === null && html === null) return { text, html: null }
  const own = said.html ?? asHtml(said.text ?? '')
  const quoted = html ?? asHtml(cut(texts?.text ?? ''))
  const rows = fields.map(([name, value]) => `<div><b>${name}:</b> ${escapeHtml(value)}</div>`).join('\n')
  return {
    text: said.text === null && said.html !== null ? null : text,
    html: [own, `<br><div>${escapeHtml(HEADING)}</div>`, rows, '<br>', `<div>${quoted}</div>`, ''].join('\n'),
  }
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

const cut = (text: string): string =>
  text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX).toWellFormed()}\n[…]` : text

const quotable = (html: string | null): string | null => (html !== null && html.length <= HTML_CHARS_MAX ? html : null)

const asHtml = (text: string): string => `<div style="white-space:pre-wrap">${escapeHtml(text)}</div>`
