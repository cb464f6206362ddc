// Which tags of a page hide what is in them from a reader. What they say is judged by the reader of mail; here is told
// which of them are worth that: a page has tens of thousands.
import { parseStyleSheet, type StyleSheet } from '../../../mail/text/css.ts'
import { scanHtml, VOID_ELEMENTS } from '../../../mail/text/scan-html.ts'
import { isSeen, lookOf, PAGE_LOOK } from '../../../mail/text/visibility.ts'
import type { Codes } from './characters.ts'
import { keyOf, type Tag } from './tags.ts'

/** Every property by which something is hidden, and what a word can be disguised with. */
const SUSPECT = new RegExp(
  [
    String.raw`hidden|display\s*:\s*none|visibility\s*:|mso-hide|opacity|transparent|clip|scale|translate|collapse`,
    String.raw`(?:text-indent|left|top|right|bottom)\s*:\s*-|font-size\s*:\s*(?:[0.]|1(?!\d))|font\s*:`,
    String.raw`background|bgcolor|(?<![-\w])color\s*[:=]\s*["']?\s*(?:#f|rgb|hsl|[a-z])`,
    String.raw`\\|\/\*|&(?:#|[a-z]+;)(?<!&amp;)`,
  ].join('|'),
  'i',
)

/** Elements whose content nobody is shown. */
const NEVER_SHOWN: ReadonlySet<number> = new Set(
  'datalist object audio video canvas applet select'.split(' ').map(keyOf),
)

/** None that is shorter has an attribute that hides: `<s hidden>`. */
const TAG_CHARS_MIN = 10
const SHEETS_CHARS_MAX = 262_144
/** A pattern of more is slower than reading every tag. */
const SELECTORS_MAX = 200

export class Hiding {
  readonly #sheet: StyleSheet
  /** Names of elements, classes and ids that the style sheet may hide; null: none. */
  readonly #named: RegExp | null
  /** Of the tags that were read: most of a page stand there many times. */
  readonly #known = new Map<string, boolean>()

  constructor(html: string) {
    this.#sheet = sheetOf(html)
    this.#named = this.#sheet.size === 0 ? null : namesIn(this.#sheet)
  }

  read({ text }: Codes, at: number, tag: Tag): { isNew: boolean; isHiding: boolean } {
    if (tag.isClosing || tag.end - at < TAG_CHARS_MIN) return { isNew: true, isHiding: NEVER_SHOWN.has(tag.name) }
    const written = text.slice(at, tag.end)
    const known = this.#known.get(written)
    if (known !== undefined) return { isNew: false, isHiding: known }
    const isHiding = this.#isHiding(written, tag)
    this.#known.set(written, isHiding)
    return { isNew: true, isHiding }
  }

  #isHiding(written: string, { name }: Tag): boolean {
    if (NEVER_SHOWN.has(name)) return true
    if (!SUSPECT.test(written) && !this.#named?.test(written)) return false
    let isHidden = false
    scanHtml(written, {
      open: (element, attributes) => {
        isHidden = !VOID_ELEMENTS.has(element) && !isSeen(lookOf(element, attributes, PAGE_LOOK, this.#sheet))
      },
      close: () => {},
      text: () => {},
    })
    return isHidden
  }
}

const OPENING = /<style(?=[\s>/])[^>]{0,2000}>/gi
const CLOSING = /<\/style(?=[\s>/])/gi

/** One that is never closed hides the rest of the page, and styles nothing. */
function sheetOf(html: string): StyleSheet {
  let css = ''
  OPENING.lastIndex = 0
  while (css.length < SHEETS_CHARS_MAX && OPENING.test(html)) {
    const start = OPENING.lastIndex
    CLOSING.lastIndex = start
    if (!CLOSING.test(html)) break
    css += `${html.slice(start, CLOSING.lastIndex - '</style'.length)}\n`
    OPENING.lastIndex = CLOSING.lastIndex
  }
  return css === '' ? NO_SHEET : parseStyleSheet(css)
}

const NO_SHEET: StyleSheet = new Map()

function namesIn(sheet: StyleSheet): RegExp | null {
  const names = new Set<string>()
  for (const [selector, declarations] of sheet) {
    const body = Array.from(declarations, ([property, value]) => `${property}:${value}`).join(';')
    if (SUSPECT.test(body)) names.add(selector.replace(/^.*[.#]/, ''))
  }
  if (names.size === 0) return null
  return names.has('*') || names.size > SELECTORS_MAX ? /^/ : new RegExp([...names].join('|'), 'i')
}
