// As much of CSS as says whether text can be seen: declarations of an element, simple selectors of a style sheet,
// colours and lengths. Bounded, and never an error: what is not understood is passed over, as browsers do.
import { ownCopy } from './own-copy.ts'

export type Declarations = ReadonlyMap<string, string>

const STYLE_CHARS_MAX = 16_384
const DECLARATIONS_MAX = 200

const CACHED_MAX = 1_000
const CACHED_CHARS_MAX = 500
const cache = new Map<string, Declarations>()

/**
 * The declarations of a style, values in lower case without `!important`. The last of a property counts. Pages repeat
 * the same styles thousands of times, so the last ones are remembered.
 */
export function parseDeclarations(style: string): Declarations {
  const known = cache.get(style)
  if (known) return known
  if (style.length > CACHED_CHARS_MAX) return readDeclarations(style)
  const own = ownCopy(style)
  const declarations = readDeclarations(own)
  if (cache.size >= CACHED_MAX) cache.clear()
  cache.set(own, declarations)
  return declarations
}

function readDeclarations(style: string): Declarations {
  const declarations = new Map<string, string>()
  const source = unescapeCss(withoutComments(style.slice(0, STYLE_CHARS_MAX)))
  for (const declaration of source.split(';', DECLARATIONS_MAX)) {
    const colon = declaration.indexOf(':')
    if (colon === -1) continue
    const value = declaration.slice(colon + 1).replace(/!\s*important\s*$/i, '')
    declarations.set(declaration.slice(0, colon).trim().toLowerCase(), value.trim().toLowerCase())
  }
  return declarations
}

/** A comment that is never closed reaches to the end. */
function withoutComments(css: string): string {
  let kept = ''
  let at = 0
  for (let start = css.indexOf('/*'); start !== -1; start = css.indexOf('/*', at)) {
    kept += css.slice(at, start)
    const end = css.indexOf('*/', start + 2)
    if (end === -1) return kept
    at = end + 2
  }
  return kept + css.slice(at)
}

/** `\64 isplay` is `display`: escapes are a way to hide a word from readers of the source. */
const unescapeCss = (text: string): string =>
  text.replaceAll(/\\(?:([0-9a-f]{1,6})\s?|([^]))/gi, (_, code: string | undefined, char: string | undefined) =>
    code === undefined ? (char ?? '') : String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff) || 0xfffd),
  )

/** Declarations by selector: `.name`, `#name`, `tag` or `tag.name`. */
export type StyleSheet = Map<string, Declarations>

const SHEET_CHARS_MAX = 262_144
const RULES_MAX = 4_000

/** The rules that hold on every screen: those inside `@media` and the like are left out, as are nested selectors. */
export function parseStyleSheet(css: string): StyleSheet {
  const sheet: StyleSheet = new Map()
  const source = withoutComments(css.slice(0, SHEET_CHARS_MAX)).replaceAll(/<!--|-->/g, '')
  let depth = 0
  let rules = 0
  let start = 0
  for (let at = 0; at < source.length && rules < RULES_MAX; at++) {
    const char = source[at]
    if (char === ';' && depth === 0) start = at + 1
    if (char === '}') {
      depth = Math.max(0, depth - 1)
      if (depth === 0) start = at + 1
    }
    if (char !== '{') continue
    const selectors = source.slice(start, at).trim()
    if (selectors.startsWith('@') || depth > 0) {
      depth++
      continue
    }
    const end = source.indexOf('}', at)
    rules++
    addRule(sheet, selectors, source.slice(at + 1, end === -1 ? source.length : end))
    if (end === -1) break
    at = end
    start = end + 1
  }
  return sheet
}

const SELECTORS_MAX = 50

function addRule(sheet: StyleSheet, selectors: string, body: string): void {
  const declarations = parseDeclarations(body)
  for (const selector of selectors.slice(0, STYLE_CHARS_MAX).split(',', SELECTORS_MAX)) {
    const simple = /^(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+)?$/i.exec(selector.trim())?.[0].toLowerCase()
    if (!simple) continue
    sheet.set(simple, new Map([...(sheet.get(simple) ?? []), ...declarations]))
  }
}

export type Colour = readonly [red: number, green: number, blue: number, alpha: number]

/** A map, as all tables that are asked for words of mail: an object has words of its own, such as `constructor`. */
const NAMED = new Map<string, Colour>(
  Object.entries({
    white: [255, 255, 255, 1],
    black: [0, 0, 0, 1],
    transparent: [0, 0, 0, 0],
    snow: [255, 250, 250, 1],
    ivory: [255, 255, 240, 1],
    ghostwhite: [248, 248, 255, 1],
    whitesmoke: [245, 245, 245, 1],
    floralwhite: [255, 250, 240, 1],
    azure: [240, 255, 255, 1],
    mintcream: [245, 255, 250, 1],
    red: [255, 0, 0, 1],
    green: [0, 128, 0, 1],
    blue: [0, 0, 255, 1],
    yellow: [255, 255, 0, 1],
    gray: [128, 128, 128, 1],
    grey: [128, 128, 128, 1],
    silver: [192, 192, 192, 1],
    lightgray: [211, 211, 211, 1],
    lightgrey: [211, 211, 211, 1],
  }),
)

/** Null for what names no colour that we know. */
export function parseColour(value: string): Colour | null {
  const text = value.trim().toLowerCase()
  const hex = /^#?([0-9a-f]{3,8})$/.exec(text)?.[1]
  if (hex && [3, 4, 6, 8].includes(hex.length)) {
    const long = hex.length < 6 ? hex.replaceAll(/./g, '$&$&') : hex
    const [red = 0, green = 0, blue = 0, alpha = 255] = long.match(/../g)!.map(byte => Number.parseInt(byte, 16))
    return [red, green, blue, alpha / 255]
  }
  const parts = /^rgba?\(([^)]{1,60})\)/
    .exec(text)?.[1]
    ?.split(/[\s,/]+/)
    .filter(Boolean)
  if (!parts || parts.length < 3) return NAMED.get(text.split(/\s+/, 1)[0]!) ?? null
  const [red = 0, green = 0, blue = 0] = parts.map(part => Number.parseFloat(part) * (part.endsWith('%') ? 2.55 : 1))
  const alpha = parts[3] === undefined ? 1 : Number.parseFloat(parts[3]) / (parts[3].endsWith('%') ? 100 : 1)
  return [red, green, blue, Number.isNaN(alpha) ? 1 : alpha]
}

const PX_PER = new Map<string, number>(
  Object.entries({ px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 37.8, mm: 3.78, q: 0.945 }),
)

/** A length in pixels; null for what is none. `em` and percentages are taken of `base`. */
export function parseLength(value: string | undefined, base = 16): number | null {
  const match = /^\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-z%]*)/.exec(value?.slice(0, 40) ?? '')
  if (!match) return null
  const number = Number.parseFloat(match[1]!)
  const unit = match[2]!
  if (unit === 'em' || unit === 'rem' || unit === 'ex' || unit === 'ch') return number * base
  if (unit === '%') return (number * base) / 100
  if (unit === 'vw' || unit === 'vh') return number * 10
  return number * (PX_PER.get(unit) ?? 1)
}
