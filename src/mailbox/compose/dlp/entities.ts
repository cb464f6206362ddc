// Entities of HTML that can stand for what detectors look for: every number, and the names of spaces, dashes and of
// punctuation. The other names stand for letters that no detector reads.
import type { Codes } from './characters.ts'

const NAMED: Readonly<Record<string, number>> = {
  nbsp: 32,
  ensp: 32,
  emsp: 32,
  thinsp: 32,
  numsp: 32,
  puncsp: 32,
  hairsp: 32,
  tab: 9,
  newline: 10,
  shy: 0xad,
  zwj: 0x200d,
  zwnj: 0x200c,
  hyphen: 45,
  dash: 45,
  ndash: 45,
  mdash: 45,
  minus: 45,
  horbar: 45,
  period: 46,
  sol: 47,
  bsol: 92,
  lowbar: 95,
  underbar: 95,
  plus: 43,
  equals: 61,
  colon: 58,
  comma: 44,
  amp: 38,
  lt: 60,
  gt: 62,
  quot: 34,
  apos: 39,
  num: 35,
  ast: 42,
  middot: 0xb7,
}

const [NUMBER_SIGN, A, Z] = [35, 97, 122]

/** `&#0000052;` is a digit as well; no browser minds the zeros. */
const ENTITY = /&(?:#(\d{1,12})|#x([0-9a-f]{1,12})|([a-z]{2,9}));?/iy

/** The character that the entity at this position stands for, and where it ends; null when there is none. */
export function codePointOfEntity({ text, codes }: Codes, at: number): { codePoint: number; end: number } | null {
  const next = codes[at + 1]!
  if (next !== NUMBER_SIGN && !(next >= A && next <= Z)) return null
  // Every second entity of a mail is this one.
  if (text.startsWith('&nbsp;', at)) return { codePoint: 32, end: at + 6 }
  ENTITY.lastIndex = at
  const found = ENTITY.exec(text)
  if (!found) return null
  const [whole, decimal, hexadecimal, name] = found
  const codePoint =
    decimal !== undefined
      ? Number(decimal)
      : hexadecimal !== undefined
        ? Number.parseInt(hexadecimal, 16)
        : NAMED[name!.toLowerCase()]
  if (codePoint === undefined || !(codePoint > 0 && codePoint <= 0x10ffff)) return null
  return { codePoint, end: at + whole.length }
}
