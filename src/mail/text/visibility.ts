// Whether a reader would see the text of an element. Each way to hide text that senders use, told from style, attributes
// and the style sheet of the page. What is hidden is read by machines alone, which is why it is kept apart from what
// people read.
import { type Colour, type Declarations, parseColour, parseDeclarations, parseLength, type StyleSheet } from './css.ts'
import type { Attributes } from './scan-html.ts'

/** What an element passes on to what is inside it. */
export interface Look {
  /** No descendant can show itself again. */
  isHidden: boolean
  /** `visibility: hidden`, which a descendant may undo. */
  isInvisible: boolean
  fontPx: number
  colour: Colour
  background: Colour
  opacity: number
}

export const PAGE_LOOK: Look = {
  isHidden: false,
  isInvisible: false,
  fontPx: 16,
  colour: [0, 0, 0, 1],
  background: [255, 255, 255, 1],
  opacity: 1,
}

const FONT_PX_MIN = 2 // nobody reads letters of a pixel
const OPACITY_MIN = 0.06
const COLOUR_DISTANCE_MIN = 12 // of 441; below it letters cannot be told from what is behind them
const OFF_SCREEN_PX = 500

export const isSeen = ({ isHidden, isInvisible, fontPx, colour, background, opacity }: Look): boolean =>
  !isHidden &&
  !isInvisible &&
  fontPx >= FONT_PX_MIN &&
  opacity * colour[3] >= OPACITY_MIN &&
  distance(colour, background) >= COLOUR_DISTANCE_MIN

const distance = (a: Colour, b: Colour): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])

/** Elements whose content no reader shows. */
const NEVER_SHOWN: ReadonlySet<string> = new Set(
  'template datalist iframe object embed audio video canvas noembed noframes applet select option textarea'.split(' '),
)

export function lookOf(name: string, attributes: Attributes, outer: Look, sheet: StyleSheet): Look {
  if (attributes.size === 0 && sheet.size === 0 && !NEVER_SHOWN.has(name)) return outer
  const style = declarationsOf(name, attributes, sheet)
  const background = style.get('background-color') ?? style.get('background') ?? attributes.get('bgcolor')
  const colour = style.get('color') ?? (name === 'font' ? attributes.get('color') : undefined)
  const visibility = style.get('visibility')
  return {
    isHidden: outer.isHidden || NEVER_SHOWN.has(name) || attributes.has('hidden') || isTakenAway(style),
    isInvisible: visibility === undefined ? outer.isInvisible : visibility === 'hidden' || visibility === 'collapse',
    fontPx: fontSize(style, outer.fontPx),
    colour: (colour === undefined ? null : parseColour(colour)) ?? outer.colour,
    background: opaque(background === undefined ? null : backgroundColour(background)) ?? outer.background,
    opacity: outer.opacity * opacityOf(style),
  }
}

/** Of the style sheet first, then the element's own, which wins. */
export function declarationsOf(name: string, attributes: Attributes, sheet: StyleSheet): Declarations {
  const own = parseDeclarations(attributes.get('style') ?? '')
  if (sheet.size === 0) return own
  const declarations = new Map<string, string>()
  for (const selector of selectorsFor(name, attributes)) {
    for (const [property, value] of sheet.get(selector) ?? []) declarations.set(property, value)
  }
  for (const [property, value] of own) declarations.set(property, value)
  return declarations
}

const CLASSES_MAX = 20

function selectorsFor(name: string, attributes: Attributes): string[] {
  const classes = (attributes.get('class') ?? '')
    .slice(0, 1_000)
    .toLowerCase()
    .split(/\s+/, CLASSES_MAX)
    .filter(Boolean)
  const id = attributes.get('id')?.slice(0, 200).toLowerCase()
  return [
    '*',
    name,
    ...classes.flatMap(each => [`.${each}`, `${name}.${each}`]),
    ...(id ? [`#${id}`, `${name}#${id}`] : []),
  ]
}

const takenAway = new WeakMap<Declarations, boolean>()

/** Whether the box, with all that is in it, is nowhere on the page. */
function isTakenAway(style: Declarations): boolean {
  const known = style.size === 0 ? false : takenAway.get(style)
  if (known !== undefined) return known
  const found = isNowhere(style)
  takenAway.set(style, found)
  return found
}

function isNowhere(style: Declarations): boolean {
  const is = (property: string, pattern: RegExp): boolean => pattern.test(style.get(property) ?? '')
  const px = (property: string): number => parseLength(style.get(property)) ?? Number.NaN
  const clips = is('overflow', /^(?:hidden|clip)/) || is('overflow-y', /^(?:hidden|clip)/)
  const isTiny = ['height', 'max-height', 'width', 'max-width'].some(property => px(property) <= 1)
  const isPositioned = is('position', /^(?:absolute|fixed|relative)$/)
  return (
    is('display', /^none\b/) ||
    is('mso-hide', /^all\b/) ||
    is('content-visibility', /^hidden/) ||
    (clips && isTiny) ||
    px('text-indent') <= -OFF_SCREEN_PX ||
    (isPositioned && ['left', 'top', 'right', 'bottom'].some(side => px(side) <= -OFF_SCREEN_PX)) ||
    ['margin-left', 'margin-top'].some(side => px(side) <= -OFF_SCREEN_PX) ||
    is('clip', /^rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)/) ||
    is(
      'clip-path',
      /inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0(?:px|%)?\s+0(?:px|%)?(?:\s*,\s*0(?:px|%)?\s+0(?:px|%)?)*\s*\)/,
    ) ||
    is('transform', /scale[xy]?\(\s*0?\.?0*\s*[,)]|translate[xy]?\(\s*-\d{3,}/) ||
    is('-webkit-text-fill-color', /transparent/)
  )
}

const SIZES = new Map<string, number>(
  Object.entries({
    'xx-small': 9,
    'x-small': 10,
    small: 13,
    medium: 16,
    large: 18,
    'x-large': 24,
    'xx-large': 32,
  }),
)

function fontSize(style: Declarations, outer: number): number {
  const value = style.get('font-size') ?? /(?:^|\s)(\d*\.?\d+(?:px|pt|em|rem|%))/.exec(style.get('font') ?? '')?.[1]
  if (value === undefined) return outer
  return SIZES.get(value) ?? parseLength(value, value.endsWith('rem') ? 16 : outer) ?? outer
}

function opacityOf(style: Declarations): number {
  const value = style.get('opacity')
  const number = Number.parseFloat(value ?? '1') / (value?.endsWith('%') ? 100 : 1)
  const filter = /(?:alpha\(opacity=|opacity\(\s*)(\d+(?:\.\d+)?)(%?)/.exec(style.get('filter') ?? '')
  const filtered = filter ? Number.parseFloat(filter[1]!) / (filter[2] || filter[0].startsWith('alpha') ? 100 : 1) : 1
  return (Number.isNaN(number) ? 1 : number) * filtered
}

/** An image may be behind the text: then its colour says nothing. */
function backgroundColour(value: string): Colour | null {
  if (value.includes('url(') || value.includes('gradient(')) return null
  return (
    parseColour(value) ?? value.split(/\s+/, 8).reduce<Colour | null>((found, word) => found ?? parseColour(word), null)
  )
}

const opaque = (colour: Colour | null): Colour | null => (colour && colour[3] > 0.5 ? colour : null)
