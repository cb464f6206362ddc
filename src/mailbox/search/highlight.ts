// The piece of a text that shows why a message was found: some words around the first hit, as HTML in which everything is
// escaped but the marks around what was searched for.
import { escapeHtml } from '../../mail/text/escape-html.ts'
import { fold } from './lexemes.ts'
import type { Query } from './parse-query.ts'

/** What to mark: words, beginnings of words, and runs of characters in scripts without spaces. */
export interface Sought {
  words: ReadonlySet<string>
  beginnings: readonly string[]
  runs: readonly string[]
}

const SNIPPET_CHARS = 200
const BEFORE_CHARS = 60

/** With what cannot be seen inside a word, so that it does not end there. */
const TOKEN = /[\p{L}\p{N}\p{M}][\p{L}\p{N}\p{M}\p{Cf}]*/gu

export function soughtIn({ groups }: Query): Sought {
  const wanted = groups
    .flatMap(group => (group.kind === 'words' ? group.any : []))
    .filter(({ isNegated }) => !isNegated)
  const segments = wanted.flatMap(({ compounds, isPrefix }) => {
    const all = compounds.flatMap(compound => compound.segments)
    return all.map((segment, index) => ({ ...segment, isPrefix: isPrefix && index === all.length - 1 }))
  })
  const plain = segments.filter(({ isDense }) => !isDense)
  return {
    words: new Set(plain.map(({ text }) => text)),
    beginnings: plain.filter(({ isPrefix }) => isPrefix).map(({ text }) => text),
    runs: segments.filter(({ isDense }) => isDense).map(({ text }) => text),
  }
}

interface Hit {
  start: number
  end: number
}

/** Null where nothing of it occurs. */
export function highlight(text: string, sought: Sought): string | null {
  const flat = text.replace(/\s+/g, ' ').trim()
  const first = hitsIn(flat, sought).next()
  return first.done ? null : marked(pieceAround(flat, first.value), sought)
}

/** A text that is shown whatever is in it. */
export const marked = (text: string, sought: Sought): string => {
  const parts: string[] = []
  let at = 0
  for (const { start, end } of hitsIn(text, sought)) {
    parts.push(escapeHtml(text.slice(at, start)), '<mark>', escapeHtml(text.slice(start, end)), '</mark>')
    at = end
  }
  parts.push(escapeHtml(text.slice(at)))
  return parts.join('')
}

function* hitsIn(text: string, { words, beginnings, runs }: Sought): Generator<Hit> {
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const folded = fold(token)
    if (words.has(folded) || beginnings.some(beginning => folded.startsWith(beginning)))
      yield { start: index, end: index + token.length }
    else if (runs.length > 0) yield* runsIn(token, { folded, index, runs })
  }
}

/** Where folding has changed the length, the whole token is marked: there is no telling which part of it. */
function* runsIn(
  token: string,
  { folded, index, runs }: { folded: string; index: number; runs: readonly string[] },
): Generator<Hit> {
  const found = runs.filter(run => folded.includes(run))
  if (found.length === 0) return
  if (folded.length !== token.length) return yield { start: index, end: index + token.length }
  for (let at = 0; at < folded.length;) {
    const next = found
      .map(run => ({ run, start: folded.indexOf(run, at) }))
      .filter(({ start }) => start !== -1)
      .toSorted((one, other) => one.start - other.start || other.run.length - one.run.length)[0]
    if (!next) return
    at = next.start + next.run.length
    yield { start: index + next.start, end: index + at }
  }
}

/** Begins and ends between words where there are any near. */
function pieceAround(text: string, { start, end }: Hit): string {
  const wanted = Math.max(0, start - BEFORE_CHARS)
  const space = wanted === 0 ? -1 : text.indexOf(' ', wanted)
  const from = space === -1 || space >= start ? wanted : space + 1
  const until = Math.max(end, from + SNIPPET_CHARS)
  const last = text.lastIndexOf(' ', until)
  const to = until >= text.length || last < end ? until : last
  const piece = text.slice(from, to).toWellFormed().replaceAll('\ufffd', '')
  return `${from > 0 ? '… ' : ''}${piece}${to < text.length ? ' …' : ''}`
}
