// Entities of HTML: every number, and the names of spaces, dashes and of punctuation by a table. The other two thousand names
// are rare in mail, and are asked of the reader of HTML that the rest of the service has.
import { ownCopy } from '../../../mail/text/own-copy.ts'
import { scanHtml } from '../../../mail/text/scan-html.ts'
import { isLetterAt, type Codes } from './characters.ts'

/** The code of each character, then its names. */
const NAMED = new Map(
  `32 nbsp ensp emsp thinsp numsp puncsp hairsp; 45 hyphen dash ndash mdash minus horbar; 95 lowbar underbar; 9 tab;
  10 newline; 0xad shy; 0x200d zwj; 0x200c zwnj; 46 period; 47 sol; 92 bsol; 43 plus; 61 equals; 58 colon; 44 comma; 38 amp;
  60 lt; 62 gt; 34 quot; 39 apos; 35 num; 42 ast; 0xb7 middot`
    .split(';')
    .flatMap(each => {
      const [code, ...names] = each.trim().split(' ')
      return names.map(name => [name, Number(code)] as const)
    }),
)

const NUMBER_SIGN = 35

/** `&#0000052;` is a digit as well; no browser minds the zeros. */
const ENTITY = /&(?:#0*(\d{1,12})|#x0*([0-9a-f]{1,12})|([a-z][a-z0-9]{1,31}));?/iy

interface Entity {
  codePoint: number
  end: number
}

/** The character that the entity at this position stands for, and where it ends; null when there is none. */
export function codePointOfEntity(given: Codes, at: number): Entity | null {
  const { text, codes } = given
  if (codes[at + 1] !== NUMBER_SIGN && !isLetterAt(given, at + 1)) return null
  // Every second entity of a mail is this one.
  if (text.startsWith('&nbsp;', at)) return { codePoint: 32, end: at + 6 }
  ENTITY.lastIndex = at
  const found = ENTITY.exec(text)
  if (!found) return null
  const [whole, decimal, hexadecimal, name] = found
  if (name !== undefined) return namedAt(whole, at)
  const codePoint = numbered(decimal === undefined ? Number.parseInt(hexadecimal!, 16) : Number(decimal))
  return codePoint > 0 && codePoint <= 0x10ffff ? { codePoint, end: at + whole.length } : null
}

/** Browsers take numbers of control characters for those of Windows, where some of them are dashes and a bullet. */
const numbered = (number: number): number =>
  number >= 0x80 && number < 0xa0 ? WINDOWS.decode(Uint8Array.of(number)).charCodeAt(0) : number

const WINDOWS = new TextDecoder('windows-1252')

/** What a few letters behind an ampersand stand for, and how many of them belong to it; null: for nothing. */
const names = new Map<string, { codePoint: number; length: number } | null>()
/** A hostile mail makes up any number of names. */
const NAMES_MAX = 5_000

function namedAt(written: string, at: number): Entity | null {
  const letters = /^&([a-z]+);?/i.exec(written)!
  const known = NAMED.get(letters[1]!.toLowerCase())
  if (known !== undefined && letters[0] === written) return { codePoint: known, end: at + written.length }
  let named = names.get(written)
  if (named === undefined) {
    named = read(written)
    if (names.size < NAMES_MAX) names.set(ownCopy(written), named)
  }
  if (named) return { codePoint: named.codePoint, end: at + named.length }
  return known === undefined ? null : { codePoint: known, end: at + letters[0].length }
}

/** Of old names, such as `&shy`, the semicolon may be missing, whatever follows; each stands for one unit. */
function read(written: string): { codePoint: number; length: number } | null {
  let text = ''
  scanHtml(written, { open: () => {}, close: () => {}, text: piece => void (text += piece) })
  if (text.startsWith('&')) return null
  const isWhole = written.endsWith(';') && !text.endsWith(';')
  return { codePoint: text.codePointAt(0)!, length: isWhole ? written.length : written.length - text.length + 1 }
}
