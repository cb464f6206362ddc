// HTML as detectors read it: what it says without its tags, what leaves in the tags themselves, and, where it hides elements or
// parts digits by tags, what a reader sees then.
import { codesOf, type Codes } from './characters.ts'
import { Hiding } from './hiding.ts'
import { isDigit } from './rows.ts'
import { endsBefore, tagAt, type Tag } from './tags.ts'
import { fold, Writing, type Marks, type View } from './view.ts'

/**
 * The text with all that is hidden; attributes, comments, scripts and styles; and the text around hidden elements without
 * them. In the last, tags between two digits are breaks: they may be cells that a style sets apart.
 */
export function viewsOfHtml(given: string): View[] {
  const read = codesOf(given)
  const hiding = new Hiding(given)
  const { shown, unseen, spans } = writeHtml(read, hiding, { shown: null, unseen: null })
  const again = (marks: { shown: Marks | null; unseen: Marks | null }) => void writeHtml(read, new Hiding(given), marks)
  const views = [
    shown.view(marks => again({ shown: marks, unseen: null })),
    unseen.view(marks => again({ shown: null, unseen: marks })),
  ]
  if (spans.length > 0) views.push(writeSeen(read, spans, null).view(marks => void writeSeen(read, spans, marks)))
  return views
}

/** From a tag on: what is hidden, or a tag that parts two digits. */
interface Span {
  /** Where a tag or a text begins, so far before that any number or token begins behind it. */
  windowStart: number
  from: number
  to: number
  isBreak: boolean
}

const WINDOW_CHARS = 600
const [NEW_LINE, LESS, CARET] = [10, 60, 94]

function writeHtml(read: Codes, hiding: Hiding, marks: { shown: Marks | null; unseen: Marks | null }) {
  const { length } = read.codes
  const shown = new Writing(length, marks.shown)
  // A tag is written besides with a line of its own, and is longer than that.
  const unseen = new Writing(length + Math.ceil(length / BARE_TAG_CHARS_MAX), marks.unseen)
  const spans = new Spans()
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
    const known = hiding.read(read, at, tag)
    spans.add(at, tag, known.isHiding)
    if (tag.isBreaking) shown.put(NEW_LINE, at)
    else if (isDigit(shown.last) && isDigit(read.codes[tag.end])) spans.addBreak(at, tag)
    // Names of tags alone say nothing, nor does a tag that was there before.
    if (known.isNew && tag.end - at > BARE_TAG_CHARS_MAX) {
      fold(read, { from: at, to: tag.end, isHtml: false }, unseen)
      unseen.put(NEW_LINE, at)
    }
    at = tag.end
  }
  return { shown, unseen, spans: spans.finish(length) }
}

const BARE_TAG_CHARS_MAX = 14

/** Gathers what is left out, in the order in which it stands. Tags are told one after the other. */
class Spans {
  readonly #spans: Span[] = []
  /** The element that hides what is now read, and how many of its name are open in it. */
  #hidden: { from: number; windowStart: number; name: number; depth: number } | null = null
  /** Two places where a tag begins: the first is a window or more back. */
  #anchors: [number, number] = [0, 0]

  add(at: number, tag: Tag, isHiding: boolean): void {
    if (at - this.#anchors[1] > WINDOW_CHARS) this.#anchors = [this.#anchors[1], at]
    const hidden = this.#hidden
    if (hidden?.name === tag.name && tag.isClosing) {
      hidden.depth--
      if (hidden.depth === 0) this.#end(tag.end)
      return
    }
    if (hidden && endsBefore(hidden.name, tag)) this.#end(at)
    else if (hidden) {
      if (tag.name === hidden.name) hidden.depth++
      return
    }
    if (!isHiding || tag.isClosing || tag.name === 0) return
    this.#hidden = { from: at, windowStart: this.#anchors[0], name: tag.name, depth: 1 }
  }

  addBreak(from: number, { end: to }: Tag): void {
    const isWithin = this.#hidden !== null || from < (this.#spans.at(-1)?.to ?? 0)
    if (!isWithin) this.#spans.push({ windowStart: this.#anchors[0], from, to, isBreak: true })
  }

  finish(length: number): Span[] {
    this.#end(length)
    return this.#spans
  }

  #end(to: number): void {
    if (!this.#hidden) return
    const { from, windowStart } = this.#hidden
    this.#spans.push({ windowStart, from, to, isBreak: false })
    this.#hidden = null
  }
}

/** The text around the spans, without them. */
function writeSeen(read: Codes, spans: readonly Span[], marks: Marks | null): Writing {
  const { length } = read.codes
  const seen = new Writing(length + 1, marks)
  const unclosed = new Set<string>()
  let [at, end, next] = [0, 0, 0]
  while (at < length) {
    const span = spans[next]
    if (at >= end) {
      if (!span) break
      if (span.windowStart > at) at = span.windowStart
      // Belongs to no number, word or token.
      seen.put(CARET, at)
      end = span.to + WINDOW_CHARS
    }
    if (span && span.windowStart <= at) end = Math.max(end, span.to + WINDOW_CHARS)
    if (span?.from === at) {
      if (span.isBreak) seen.put(NEW_LINE, at)
      at = span.to
      next++
      continue
    }
    const start = at
    at = fold(read, { from: at, to: length, isHtml: true }, seen)
    if (at !== start || at === length) continue
    const tag = tagAt(read, at, unclosed)
    if (tag === null) seen.put(LESS, at)
    else if (tag.isBreaking) seen.put(NEW_LINE, at)
    at = tag === null ? at + 1 : tag.end
  }
  return seen
}
