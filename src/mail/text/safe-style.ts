// The part of a style that can neither load anything nor leave the box of its element. Allowed is what is listed; each value
// must be of the form that its property has, so that no function, escape or address comes through.
import { type Declarations, parseLength } from './css.ts'

const PX_MAX = 2_000 // wider than any screen a mail is read on
const SPACE_PX_MAX = 200
const FONT_PX_MAX = 100

const isColour = (value: string): boolean =>
  /^(?:#[0-9a-f]{3,8}|[a-z]{3,30}|(?:rgb|rgba|hsl|hsla)\([\d\s.,%/deg]{1,60}\))$/.test(value)
const isWord = (value: string): boolean => /^[a-z]+(?:-[a-z]+){0,3}$/.test(value)
const isNumber = (value: string): boolean => /^\d{1,4}(?:\.\d{1,4})?$/.test(value)
const isFont = (value: string): boolean => /^[\p{L}\p{N} ,'"-]{1,300}$/u.test(value)
const oneOf = (words: string) => {
  const allowed = new Set(words.split(' '))
  return (value: string): boolean => allowed.has(value)
}

/** One length, never negative; percentages up to a hundred. */
const lengthTo = (pxMax: number) => (value: string) => {
  if (value === 'auto') return true
  if (!/^\d*\.?\d+(?:px|pt|pc|em|rem|ex|ch|cm|mm|in|%)?$/.test(value)) return false
  if (value.endsWith('%')) return Number.parseFloat(value) <= 100
  return (parseLength(value) ?? Number.POSITIVE_INFINITY) <= pxMax
}
const lengthsTo = (pxMax: number) => (value: string) => {
  const parts = value.split(/\s+/)
  return parts.length <= 4 && parts.every(lengthTo(pxMax))
}
const isBorder = (value: string): boolean => {
  const parts = value.replaceAll(/\s*([(),])\s*/g, '$1').split(/\s+/)
  return parts.length <= 8 && parts.every(part => lengthTo(SPACE_PX_MAX)(part) || isColour(part) || isWord(part))
}

const sides = (name: string, suffix = ''): string[] =>
  ['', '-top', '-right', '-bottom', '-left'].map(side => `${name}${side}${suffix}`)

const ALLOWED = new Map<string, (value: string) => boolean>([
  ...['color', 'background-color', ...sides('border', '-color')].map(name => [name, isColour] as const),
  ...[...sides('border'), ...sides('border', '-style'), ...sides('border', '-width')].map(
    name => [name, isBorder] as const,
  ),
  ...[...sides('margin'), ...sides('padding')].map(name => [name, lengthsTo(SPACE_PX_MAX)] as const),
  ...['width', 'height', 'min-width', 'min-height', 'max-width', 'max-height'].map(
    name => [name, lengthTo(PX_MAX)] as const,
  ),
  ...['border-radius', 'border-spacing', 'text-indent'].map(name => [name, lengthsTo(SPACE_PX_MAX)] as const),
  ...['font-style', 'text-align', 'text-transform', 'vertical-align', 'white-space', 'word-break', 'word-wrap'].map(
    name => [name, isWord] as const,
  ),
  ...['overflow-wrap', 'border-collapse', 'table-layout', 'list-style-type', 'direction'].map(
    name => [name, isWord] as const,
  ),
  ['font-family', isFont],
  ['font-size', value => isWord(value) || lengthTo(FONT_PX_MAX)(value)],
  ['font-weight', value => isWord(value) || /^[1-9]00$/.test(value)],
  ['text-decoration', value => value.split(/\s+/, 5).every(part => isWord(part) || isColour(part))],
  [
    'line-height',
    value => value === 'normal' || (isNumber(value) ? Number(value) <= 5 : lengthTo(SPACE_PX_MAX)(value)),
  ],
  ['letter-spacing', value => value === 'normal' || lengthTo(20)(value)],
  ['opacity', value => isNumber(value) || /^\.\d{1,4}$/.test(value)],
  ['display', oneOf('none block inline inline-block table table-row table-cell table-row-group list-item')],
  ['visibility', oneOf('hidden visible collapse')],
  ['float', oneOf('left right none')],
  ['clear', oneOf('left right both none')],
  ['overflow', oneOf('hidden auto visible')],
])

const cache = new WeakMap<Declarations, string>()

/** The declarations that are safe, as a style; empty when there are none. */
export function safeStyle(declarations: Declarations): string {
  const known = cache.get(declarations)
  if (known !== undefined) return known
  const style = filtered(declarations)
  cache.set(declarations, style)
  return style
}

function filtered(declarations: Declarations): string {
  const kept: string[] = []
  for (const [property, value] of declarations) {
    // Of a background only its colour is kept.
    const name = property === 'background' ? 'background-color' : property
    if (value.length <= 400 && ALLOWED.get(name)?.(value)) kept.push(`${name}:${value}`)
  }
  return kept.join(';')
}
