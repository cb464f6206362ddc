// HTML of strangers, made safe to show: no script, no form, nothing loaded from elsewhere, nothing that leaves its box. The
// page is written anew from what was understood of it, balanced and bounded, and then passes the allowlist of
// sanitize-html: what comes out has been through two readers that had to agree.
import sanitizeHtml, { type IOptions } from 'sanitize-html'
import { escapeHtml } from './escape-html.ts'
import { styleSheetOf } from './html-text.ts'
import type { StyleSheet } from './css.ts'
import { type Attributes, type HtmlSink, VOID_ELEMENTS, scanHtml } from './scan-html.ts'
import { safeStyle } from './safe-style.ts'
import { declarationsOf } from './visibility.ts'

/**
 * Safe HTML. Images from elsewhere are kept but inert: their address is in `data-remote-src`, for a reader to ask for.
 * Images by `cid:` keep their address, links get `rel` and open elsewhere. `isCut`: something had to be left out because the
 * page is too large.
 */
export function sanitiseHtml(html: string) {
  const writer = new CleanWriter(styleSheetOf(html))
  scanHtml(html, writer)
  return { html: sanitizeHtml(writer.html, ALLOWLIST).trim(), isCut: writer.isCut }
}

const HTML_CHARS_MAX = 3_500_000 // what sanitize-html writes may be a little longer, and stays below 4,000,000

/** Elements that are left out with all that is in them. */
const DROPPED: ReadonlySet<string> = new Set(
  `script style title textarea select option optgroup datalist iframe frame frameset object embed applet noembed noframes
   template svg math audio video canvas xmp plaintext head base basefont bgsound link meta param source track input keygen
   area map dialog marquee portal`.split(/\s+/),
)
const KEPT =
  `a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div
  dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s samp
  section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr`.split(/\s+/)
const KEPT_SET: ReadonlySet<string> = new Set(KEPT)

const isNumber = (value: string): boolean => /^\d{1,4}(?:px)?$/.test(value)
const isSize = (value: string): boolean => isNumber(value) || /^(?:100|\d{1,2})(?:\.\d+)?%$/.test(value)
const isWord = (value: string): boolean => /^[\w#-]{1,40}$/.test(value)
const isText = (value: string): boolean => value.length <= 2_000

function allOf<Check>(names: string, check: Check): [string, Check][] {
  return names.split(' ').map(name => [name, check])
}

const ATTRIBUTES = new Map<string, (value: string) => boolean>([
  ...allOf('width height', isSize),
  ...allOf('border cellpadding cellspacing colspan rowspan span start value', isNumber),
  ...allOf('align valign bgcolor color dir lang nowrap type', isWord),
  ...allOf('alt title', isText),
  ['size', value => /^[+-]?\d$/.test(value)],
  ['face', value => /^[\p{L}\p{N} ,'"-]{1,300}$/u.test(value)],
])

const ALLOWLIST: IOptions = {
  allowedTags: KEPT,
  allowedAttributes: {
    '*': [...ATTRIBUTES.keys(), 'style'],
    a: ['href', 'rel', 'target'],
    img: ['src', 'data-remote-src'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowedSchemesByTag: { img: ['cid', 'data'] },
  allowedSchemesAppliedToAttributes: ['href', 'src'],
  allowProtocolRelative: false,
  disallowedTagsMode: 'discard',
  // The style was made by us, of listed properties and values.
  parseStyleAttributes: false,
  enforceHtmlBoundary: false,
}

class CleanWriter implements HtmlSink {
  isCut = false
  readonly #sheet: StyleSheet
  readonly #pieces: string[] = []
  #chars = 0
  /** Open elements that are left out with their content. */
  #dropped = 0
  /** Whether each open element was written. */
  readonly #written: boolean[] = []

  constructor(sheet: StyleSheet) {
    this.#sheet = sheet
  }

  get html(): string {
    return this.#pieces.join('')
  }

  open(name: string, attributes: Attributes): void {
    const isVoid = VOID_ELEMENTS.has(name)
    if (DROPPED.has(name)) {
      if (!isVoid) this.#dropped++
      return
    }
    // The page's own style is the style of a box inside the reader's page.
    const tag = name === 'body' ? 'div' : name
    const isWritten =
      this.#dropped === 0 && KEPT_SET.has(tag) && this.#add(`<${tag}${this.#attributes(name, attributes)}>`)
    if (!isVoid) this.#written.push(isWritten)
  }

  close(name: string): void {
    if (DROPPED.has(name)) {
      this.#dropped--
      return
    }
    if (this.#written.pop()) this.#pieces.push(`</${name === 'body' ? 'div' : name}>`)
  }

  text(text: string): void {
    if (this.#dropped === 0) this.#add(escapeHtml(text))
  }

  #add(piece: string): boolean {
    if (this.#chars + piece.length > HTML_CHARS_MAX) {
      this.isCut = true
      return false
    }
    this.#chars += piece.length
    this.#pieces.push(piece)
    return true
  }

  #attributes(name: string, attributes: Attributes): string {
    const kept: Record<string, string> = {}
    for (const [attribute, value] of attributes) {
      if (ATTRIBUTES.get(attribute)?.(value)) kept[attribute] = value
    }
    if (attributes.has('hidden')) kept['style'] = 'display:none'
    else if (attributes.has('style') || this.#sheet.size > 0) {
      const style = safeStyle(declarationsOf(name, attributes, this.#sheet))
      if (style) kept['style'] = style
    }
    if (name === 'a') Object.assign(kept, linkAttributes(attributes.get('href')))
    if (name === 'img') Object.assign(kept, imageAttributes(attributes.get('src')))
    return Object.entries(kept)
      .map(([attribute, value]) => ` ${attribute}="${escapeHtml(value)}"`)
      .join('')
  }
}

const URL_CHARS_MAX = 8_192
const INLINE_IMAGE = /^data:image\/(?:png|jpe?g|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]*$/i

/** Browsers pass over blanks and control characters in front of and inside an address; so must who reads its scheme. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const bareUrl = (url: string): string => url.replaceAll(/[\0-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]+/g, '')

function linkAttributes(href: string | undefined): Record<string, string> {
  const url = bareUrl(href ?? '')
  if (url.length > URL_CHARS_MAX || !/^(?:https?:\/\/|mailto:|tel:)/i.test(url)) return {}
  return { href: url, rel: 'noopener noreferrer nofollow', target: '_blank' }
}

function imageAttributes(src: string | undefined): Record<string, string> {
  const url = bareUrl(src ?? '')
  if (INLINE_IMAGE.test(url)) return { src: url }
  if (url.length > URL_CHARS_MAX) return {}
  if (/^cid:[^\s"'<>]+$/i.test(url)) return { src: url }
  if (/^https?:\/\//i.test(url)) return { 'data-remote-src': url }
  return url.startsWith('//') ? { 'data-remote-src': `https:${url}` } : {}
}
