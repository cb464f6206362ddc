// HTML as plain lines, the way a reader sees it, and apart from it what a reader does not see. Quotes and signatures keep
// their marks, so that what is new in a reply can be told from what it answers to.
import { parseStyleSheet, type StyleSheet } from './css.ts'
import { type Attributes, type HtmlSink, VOID_ELEMENTS, scanHtml } from './scan-html.ts'
import { isSeen, type Look, lookOf, PAGE_LOOK } from './visibility.ts'
import { markOf, type Mark } from './html-marks.ts'

export interface TextLine {
  text: string
  /** Levels of quotes around it. */
  depth: number
  /** `attribution`: here the client began to quote; the line may be empty. `signature`: the client put it there. */
  mark: Mark | null
}

export interface HtmlText {
  lines: TextLine[]
  /** What the page hides, at most as many characters as were asked for. */
  hidden: string
  /** What no page shows, comments and the title, up to the same number of characters. */
  unshown: string
}

/** What a person sees of the page. */
export function textOfHtml(html: string): string {
  return linesToText(readHtml(html).lines)
}

/** With `> ` before quoted lines; never more than one empty line together. */
export function linesToText(lines: readonly TextLine[]): string {
  return lines
    .map(({ text, depth }) => (depth > 0 ? `${'>'.repeat(depth)} ${text}`.trimEnd() : text))
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** What the page shows, where it is not just what the text says: an alternative mostly says the same in other lines. */
export function shownBeside(text: string, shown: string): string {
  return shown === '' || folded(shown) === folded(text) ? '' : shown
}

/** Words stay apart: what reads as words in the page may stand in the text as one long word, which says nothing. */
const folded = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

const HIDDEN_CHARS_MAX = 64_000

export function readHtml(html: string): HtmlText {
  const renderer = new Renderer(styleSheetOf(html))
  scanHtml(html, renderer)
  return renderer.finish()
}

const SHEETS_CHARS_MAX = 262_144

/** All style elements of the page. They may stand anywhere, also behind what they hide. */
export function styleSheetOf(html: string): StyleSheet {
  if (!/<style/i.test(html)) return new Map()
  let css = ''
  let isInside = false
  scanHtml(html, {
    open: name => (isInside = name === 'style'),
    close: () => (isInside = false),
    text: text => {
      if (isInside && css.length < SHEETS_CHARS_MAX) css += text
    },
  })
  return parseStyleSheet(css)
}

const BLOCKS: ReadonlySet<string> = new Set(
  `address article aside blockquote body center dd div dl dt fieldset figure figcaption footer form h1 h2 h3 h4 h5 h6 header
   li main nav ol p pre section table tbody tfoot thead tr ul caption hr details summary`.split(/\s+/),
)
const SPACED: ReadonlySet<string> = new Set('p h1 h2 h3 h4 h5 h6 blockquote ul ol dl pre table'.split(' '))
/** Their text is no text of the page. */
const UNREAD: ReadonlySet<string> = new Set(['script', 'style', 'title', 'head', 'xml'])
const HREF_CHARS_MAX = 2_000

interface Frame {
  name: string
  look: Look
  isUnread: boolean
  isPre: boolean
  depth: number
  mark: Mark | null
  /** Of a link: where it leads, and where in the line its text began. */
  href: string | null
  labelStart: number
}

class Renderer implements HtmlSink {
  readonly #sheet: StyleSheet
  readonly #lines: TextLine[] = []
  readonly #frames: Frame[] = [
    { name: '', look: PAGE_LOOK, isUnread: false, isPre: false, depth: 0, mark: null, href: null, labelStart: 0 },
  ]
  /** The line so far. In pieces: a string that grows and is looked at becomes quadratic. */
  #line: string[] = []
  #endsBlank = true
  /** Empty lines to come before the next text. */
  #gap = 0
  #hidden = ''
  #unshown = ''

  constructor(sheet: StyleSheet) {
    this.#sheet = sheet
  }

  open(name: string, attributes: Attributes): void {
    const outer = this.#frames.at(-1)!
    if (name === 'br') return this.#breakLine(true)
    if (name === 'img') return this.#image(attributes, outer)
    if (name === 'hr' || BLOCKS.has(name)) this.#breakBlock(name)
    if ((name === 'td' || name === 'th') && !this.#endsBlank) this.#append(' ')
    if (name === 'hr') return
    if (VOID_ELEMENTS.has(name)) return
    const mark = markOf(name, attributes)
    if (mark && !outer.isUnread) this.#breakBlock(name)
    if (mark === 'attribution' && !outer.isUnread) this.#lines.push({ text: '', depth: outer.depth, mark })
    this.#frames.push({
      name,
      look: lookOf(name, attributes, outer.look, this.#sheet),
      isUnread: outer.isUnread || UNREAD.has(name),
      isPre: outer.isPre || name === 'pre' || name === 'xmp',
      depth: outer.depth + (mark === 'quote' ? 1 : 0),
      mark: outer.mark === 'signature' ? outer.mark : mark === 'signature' ? mark : null,
      href: name === 'a' ? (attributes.get('href') ?? null) : null,
      labelStart: this.#line.length,
    })
    if (name === 'li' && !outer.isUnread && isSeen(this.#frames.at(-1)!.look)) this.#append('- ')
  }

  close(name: string): void {
    const frame = this.#frames.pop()!
    if (frame.href !== null) this.#linkTarget(frame)
    if (BLOCKS.has(name) || frame.depth !== this.#frames.at(-1)!.depth || frame.mark !== this.#frames.at(-1)!.mark) {
      this.#breakBlock(name, frame)
    }
  }

  text(text: string): void {
    const frame = this.#frames.at(-1)!
    if (frame.name === 'title') this.comment(text)
    if (frame.isUnread) return
    if (!isSeen(frame.look)) return this.#hide(text)
    if (frame.isPre) {
      const [first = '', ...rest] = text.split(/\r\n?|\n/)
      this.#append(first)
      for (const line of rest) {
        this.#breakLine(true)
        this.#append(line)
      }
      return
    }
    // Bounded, because a run of ten million overflows the stack of an expression that V8 has not optimized.
    let folded = text.replaceAll(/[ \t\r\n\f]{1,1000}/g, ' ')
    while (folded.includes('  ')) folded = folded.replaceAll(/ {2,1000}/g, ' ')
    this.#append(this.#endsBlank ? folded.replace(/^ /, '') : folded)
  }

  comment(text: string): void {
    const rest = HIDDEN_CHARS_MAX - this.#unshown.length
    if (rest > 0) this.#unshown += `${text.slice(0, rest).trim()}\n\n`
  }

  finish(): HtmlText {
    this.#breakLine(false)
    return { lines: this.#lines, hidden: this.#hidden.replaceAll(/\s+/g, ' ').trim(), unshown: this.#unshown.trim() }
  }

  #append(text: string): void {
    if (text === '') return
    this.#line.push(text)
    this.#endsBlank = text.endsWith(' ')
  }

  #hide(text: string): void {
    if (this.#hidden.length < HIDDEN_CHARS_MAX) this.#hidden += text.slice(0, HIDDEN_CHARS_MAX - this.#hidden.length)
  }

  /** Its words stand for an image that is not shown; those of a pixel are for nobody. */
  #image(attributes: Attributes, outer: Frame): void {
    const alt = attributes.get('alt')?.slice(0, HREF_CHARS_MAX).trim()
    if (!alt || outer.isUnread) return
    if (isSeen(lookOf('img', attributes, outer.look, this.#sheet))) this.text(`[${alt}]`)
    else this.#hide(` ${alt} `)
  }

  /** ` <https://…>` behind the text of a link that does not say where it leads. */
  #linkTarget({ href, labelStart, isUnread, look }: Frame): void {
    const target = href!.trim()
    const label = this.#line.slice(labelStart).join('').trim()
    if (isUnread || !isSeen(look) || label === '' || target.length > HREF_CHARS_MAX || !/^https?:\/\//i.test(target))
      return
    if (label.includes(target) || target.replace(/^https?:\/\//i, '').replace(/\/$/, '') === label) return
    this.#append(` <${target}>`)
  }

  /** A line of its own; an empty one too, where the author wrote a break. */
  #breakLine(keepsEmpty: boolean, { depth, mark } = this.#frames.at(-1)!): void {
    const text = this.#line.join('').replaceAll('\u00a0', ' ').trimEnd()
    this.#line = []
    this.#endsBlank = true
    if (text === '' && !keepsEmpty) return
    for (; this.#gap > 0 && this.#lines.length > 0; this.#gap--) this.#lines.push({ text: '', depth, mark: null })
    this.#gap = 0
    this.#lines.push({ text, depth, mark: mark === 'signature' ? mark : null })
  }

  #breakBlock(name: string, frame = this.#frames.at(-1)!): void {
    this.#breakLine(false, frame)
    if (SPACED.has(name)) this.#gap = 1
  }
}
