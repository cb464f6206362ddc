// HTML as a sequence of tags and text: always balanced, with bounds on depth and number. Everything that reads HTML here
// reads this, so that a page of a hundred thousand open tags costs one pass and not one per tag.
import { Tokenizer } from 'htmlparser2'

export type Attributes = Map<string, string>

export interface HtmlSink {
  /** An element without end (`br`, `img`) is opened and never closed. */
  open(name: string, attributes: Attributes): void
  close(name: string): void
  text(text: string): void
  comment?(text: string): void
}

const DEPTH_MAX = 200 // newsletters nest tables some forty deep
const ELEMENTS_MAX = 50_000 // a page of a thousand screens; what follows is read as text
const ATTRIBUTES_MAX = 64
const ATTRIBUTE_CHARS_MAX = 524_288 // an image inside the page
const NAME_CHARS_MAX = 64

export const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr'.split(' '),
)

/** What is in them is no text of the page, so they are told however many or deep they are. They contain no elements. */
const RAW: ReadonlySet<string> = new Set([
  'script',
  'style',
  'title',
  'textarea',
  'xmp',
  'iframe',
  'noembed',
  'noframes',
])

/** Elements that end an open one of their kind when the author left out its end. */
const ENDED_BY = new Map<string, ReadonlySet<string>>(
  Object.entries({
    li: new Set(['li']),
    tr: new Set(['tr', 'td', 'th']),
    td: new Set(['td', 'th']),
    th: new Set(['td', 'th']),
    dd: new Set(['dd', 'dt']),
    dt: new Set(['dd', 'dt']),
    option: new Set(['option']),
    body: new Set(['head', 'title']),
    ...Object.fromEntries(
      'p div table ul ol dl pre blockquote h1 h2 h3 h4 h5 h6 hr center'.split(' ').map(name => [name, new Set(['p'])]),
    ),
  }),
)

/** Calls the sink for all of the page. */
export function scanHtml(html: string, sink: HtmlSink): void {
  // NUL ends a text for some readers and is nothing to others.
  const source = html.replaceAll('\0', '')
  const scanner = new HtmlScanner(source, sink)
  const tokenizer = new Tokenizer({ decodeEntities: true }, scanner)
  tokenizer.write(source)
  tokenizer.end()
  scanner.closeAll()
}

class HtmlScanner {
  readonly #source: string
  readonly #sink: HtmlSink
  readonly #stack: string[] = []
  #elements = 0
  /** Tags beyond the bounds that are not closed yet, by name. */
  readonly #dropped = new Map<string, number>()
  /** Pieces since the last tag: the tokenizer gives a piece for each entity and each lone `<`. */
  #text: string[] = []
  #name = ''
  #attributes: Attributes = new Map()
  #attribute = ''
  #value: string[] = []
  #valueChars = 0

  constructor(source: string, sink: HtmlSink) {
    this.#source = source
    this.#sink = sink
  }

  ontext(start: number, end: number): void {
    this.#text.push(this.#source.slice(start, end))
  }

  ontextentity(codepoint: number): void {
    this.#text.push(String.fromCodePoint(codepoint))
  }

  onopentagname(start: number, end: number): void {
    this.#name = this.#source.slice(start, Math.min(end, start + NAME_CHARS_MAX)).toLowerCase()
    this.#attributes = new Map()
  }

  onattribname(start: number, end: number): void {
    this.#attribute = this.#source.slice(start, Math.min(end, start + NAME_CHARS_MAX)).toLowerCase()
    this.#value = []
    this.#valueChars = 0
  }

  onattribdata(start: number, end: number): void {
    this.#addToValue(this.#source.slice(start, end))
  }

  onattribentity(codepoint: number): void {
    this.#addToValue(String.fromCodePoint(codepoint))
  }

  onattribend(): void {
    // Of an attribute that comes twice, the first counts, as in browsers.
    if (this.#attributes.size < ATTRIBUTES_MAX && !this.#attributes.has(this.#attribute)) {
      const isWhole = this.#valueChars <= ATTRIBUTE_CHARS_MAX
      this.#attributes.set(this.#attribute, isWhole ? this.#value.join('') : '')
    }
  }

  onopentagend(): void {
    this.#flushText()
    const name = this.#name
    const ended = ENDED_BY.get(name)
    if (ended) while (this.#stack.length > 0 && ended.has(this.#stack.at(-1)!)) this.#pop()
    const isOver = this.#elements++ >= ELEMENTS_MAX
    if (VOID_ELEMENTS.has(name)) {
      if (!isOver) this.#sink.open(name, this.#attributes)
    } else if ((isOver || this.#stack.length >= DEPTH_MAX) && !RAW.has(name)) {
      this.#dropped.set(name, (this.#dropped.get(name) ?? 0) + 1)
    } else {
      this.#stack.push(name)
      this.#sink.open(name, this.#attributes)
    }
  }

  onselfclosingtag(): void {
    // HTML knows no such thing: `<div/>` is open.
    this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    this.#flushText()
    const name = this.#source
      .slice(start, Math.min(end, start + NAME_CHARS_MAX))
      .trim()
      .toLowerCase()
    if (name === 'br') return this.#sink.open('br', new Map())
    const dropped = this.#dropped.get(name) ?? 0
    if (dropped > 0) {
      this.#dropped.set(name, dropped - 1)
      return
    }
    const at = this.#stack.lastIndexOf(name)
    // An end inside a table cell does not end what is outside of it.
    if (at === -1 || (!STRUCTURE.has(name) && this.#stack.slice(at).some(open => open === 'td' || open === 'th')))
      return
    while (this.#stack.length > at) this.#pop()
  }

  closeAll(): void {
    this.#flushText()
    while (this.#stack.length > 0) this.#pop()
  }

  oncdata(start: number, end: number): void {
    this.ontext(start, end)
  }

  oncomment(start: number, end: number, endMarkChars: number): void {
    this.#sink.comment?.(this.#source.slice(start, end - endMarkChars))
  }

  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #flushText(): void {
    if (this.#text.length === 0) return
    const text = this.#text.join('')
    this.#text = []
    this.#sink.text(text)
  }

  #pop(): void {
    this.#sink.close(this.#stack.pop()!)
  }

  #addToValue(text: string): void {
    this.#valueChars += text.length
    if (this.#valueChars <= ATTRIBUTE_CHARS_MAX) this.#value.push(text)
  }
}

const STRUCTURE: ReadonlySet<string> = new Set(['td', 'th', 'tr', 'tbody', 'thead', 'tfoot', 'table', 'body', 'html'])
