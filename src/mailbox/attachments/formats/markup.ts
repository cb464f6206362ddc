// Reads XML and HTML as a series of tags and texts, in one pass. It builds no tree, looks nothing up outside and expands no
// entity that a document defines, so that its cost is that of the length, whatever stands in it.

interface MarkupReader {
  /** A start tag, `<w:t xml:space="preserve">` or `<w:tab/>`; the name has no prefix. Answering `stop` ends the reading. */
  onOpen?(tag: Tag): 'stop' | void
  onClose?(name: string): 'stop' | void
  onText(text: string): 'stop' | void
}

interface Tag {
  name: string
  /** What stands between the name and the end of the tag. */
  attributes: string
  isEmpty: boolean
}

export function readXml(xml: string, reader: MarkupReader): void {
  let at = 0
  while (at < xml.length) {
    const open = xml.indexOf('<', at)
    if (open === -1) return
    if (open > at && reader.onText(decodeEntities(xml.slice(at, open))) === 'stop') return
    if (xml.startsWith('<![CDATA[', open)) {
      const end = xml.indexOf(']]>', open)
      if (end === -1 || reader.onText(xml.slice(open + 9, end)) === 'stop') return
      at = end + 3
      continue
    }
    const end = xml.startsWith('<!--', open) ? xml.indexOf('-->', open) + 2 : xml.indexOf('>', open)
    if (end < open) return
    if (giveTag(xml, { open, end }, reader) === 'stop') return
    at = end + 1
  }
}

function giveTag(xml: string, { open, end }: { open: number; end: number }, reader: MarkupReader): 'stop' | void {
  const first = xml.charCodeAt(open + 1)
  if (first === EXCLAMATION || first === QUESTION) return
  if (first === SLASH) return reader.onClose?.(localName(xml.slice(open + 2, end).trim()))
  const isEmpty = xml.charCodeAt(end - 1) === SLASH
  const inner = xml.slice(open + 1, isEmpty ? end - 1 : end)
  const space = inner.search(/\s/)
  const name = space === -1 ? inner : inner.slice(0, space)
  return reader.onOpen?.({ name: localName(name), attributes: space === -1 ? '' : inner.slice(space), isEmpty })
}

const [EXCLAMATION, QUESTION, SLASH] = ['!', '?', '/'].map(character => character.charCodeAt(0))

const localName = (name: string): string => name.slice(name.indexOf(':') + 1)

/** The value of an attribute; null without it. */
export function attributeOf(attributes: string, name: string): string | null {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes)
  return found ? decodeEntities((found[1] ?? found[2])!) : null
}

/** Elements whose content nobody reads. */
const SILENT = /^(?:script|style|template)$/
/** Elements that stand in a line. Others begin and end one. */
const INLINE = new Set(
  `a abbr b bdi bdo big cite code data del dfn em font i img input ins kbd label mark q s samp small span strike strong sub
  sup time tt u var wbr`.split(/\s+/),
)

/** The text of a web page, with a line for each block. What cannot be a tag is text, as browsers have it. */
export function htmlText(html: string, charsMax: number): string {
  const parts: string[] = []
  let length = 0
  const add = (text: string): void => {
    parts.push(text)
    length += text.length
  }
  let at = 0
  while (at < html.length && length < charsMax) {
    const open = html.indexOf('<', at)
    add(decodeEntities(html.slice(at, open === -1 ? undefined : open).replace(/\s+/g, ' ')))
    if (open === -1) break
    const name = /^[a-z][a-z0-9]*/i.exec(html.slice(open + 1, open + 20))?.[0].toLowerCase()
    at = name && SILENT.test(name) ? endOfSilent(html, open, name) : endOfTag(html, open)
    if (at === open + 1) add('<')
    else if (!INLINE.has(name ?? closedName(html, open))) add('\n')
  }
  return parts.join('')
}

const closedName = (html: string, open: number): string =>
  /^\/([a-z][a-z0-9]*)/i.exec(html.slice(open + 1, open + 20))?.[1]?.toLowerCase() ?? ''

/** Behind the tag, the comment or the declaration that begins here. A `<` that begins none is passed alone. */
function endOfTag(html: string, open: number): number {
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 2)
  if (!/^[a-z/!?]/i.test(html.charAt(open + 1))) return open + 1
  return after(html, '>', open)
}

function endOfSilent(html: string, open: number, name: string): number {
  const end = new RegExp(`</${name}`, 'gi')
  end.lastIndex = open
  const found = end.exec(html)
  return found ? after(html, '>', found.index) : html.length
}

/** Without an end the rest belongs to it, so that a page full of beginnings is searched once. */
function after(html: string, end: string, from: number): number {
  const index = html.indexOf(end, from)
  return index === -1 ? html.length : index + end.length
}

/** `&amp;`, `&#233;`, `&#xE9;` and the names of HTML for the Latin letters. Others stay as they are. */
function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (name) return ENTITIES.get(name) ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
    return code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff) ? '\ufffd' : String.fromCodePoint(code)
  })
}

/** Of ISO 8859-1 from 160 on, in order; then what mail and office programs write. */
const LATIN_1 =
  `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro
  para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave
  Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc
  Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc
  iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`.split(/\s+/)

const ENTITIES = new Map([
  ...LATIN_1.map((name, index): [string, string] => [name, String.fromCharCode(160 + index)]),
  ...Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    euro: '€',
    ndash: '–',
    mdash: '—',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    bdquo: '„',
    hellip: '…',
    bull: '•',
    trade: '™',
    OElig: 'Œ',
    oelig: 'œ',
    Scaron: 'Š',
    scaron: 'š',
    zwnj: '\u200c',
  }),
])
