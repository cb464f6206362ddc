// What a character outside ASCII is read as. Letters of other scripts have no ASCII form and stay: they only keep digits apart.

/** Digits that Unicode does not call decimal: in circles, in brackets, with a full stop, of trades and of Chinese. */
const digits = new Map<number, string>()
for (const [start, first, count] of [
  [0x2460, 1, 9],
  [0x2474, 1, 9],
  [0x2488, 1, 9],
  [0x24f5, 1, 9],
  [0x2776, 1, 9],
  [0x2780, 1, 9],
  [0x278a, 1, 9],
  [0x3021, 1, 9],
  [0x1369, 1, 9],
  [0x19da, 1, 1],
  [0x10a40, 1, 4],
  [0x10e60, 1, 9],
  [0x11052, 1, 9],
  [0x1f100, 0, 1],
  [0x1f101, 0, 10],
] as const) {
  for (let n = 0; n < count; n++) digits.set(start + n, String(first + n))
}
for (const zero of '⓪⓿🄋🄌〇零') digits.set(zero.codePointAt(0)!, '0')
for (const [n, digit] of Array.from('一二三四五六七八九').entries()) digits.set(digit.codePointAt(0)!, String(n + 1))

/** What is read as something else or as nothing, besides those digits. */
const FOLDED = new RegExp(
  [
    String.raw`^[\p{Nd}\p{Cf}\p{Mn}\p{Me}\p{Zs}\p{Pd}\p{No}\u2028\u2029\u2212\u02d7\u2043\u00ba\u00aa`,
    String.raw`\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\u2024\u2027\u2044\u2160-\u217f\u2215\u2219\u22c5\u25aa\u25cf`,
    String.raw`\u25e6\u30fb\ufe50-\ufe6b\uff65\u24b6-\u24e9\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f189}]`,
  ].join(''),
  'v',
)

/**
 * How each UTF-16 unit is read, once it was asked for: as it stands, as another, as nothing. A pattern for every letter of a
 * Russian mail would cost more than all detectors. Of ASCII, all but what begins a tag or an entity is read as it stands.
 */
const [UNKNOWN, PLAIN, OTHER, NOTHING] = [0, 1, 2, 3]
const readings = new Uint8Array(0x10000).fill(PLAIN, 0, 128)
for (const mark of '<&') readings[mark.charCodeAt(0)] = UNKNOWN
// No reader is shown a control character.
readings.fill(NOTHING, 0, 9).fill(NOTHING, 14, 32).fill(NOTHING, 127, 128)
const others = new Uint16Array(0x10000)

/** Where the characters end that are known to be read as they stand. */
export function endOfPlain(codes: Uint16Array, from: number, to: number): number {
  let at = from
  while (at < to && readings[codes[at]!] === PLAIN) at++
  return at
}

/** What a unit is read as that is a character by itself: a unit, -1 for nothing; null where it is half of a character. */
export function readingOf(unit: number): number | null {
  const reading = readings[unit]!
  if (reading === OTHER) return others[unit]!
  if (reading === NOTHING) return -1
  if (reading === PLAIN) return unit
  if (unit >= 0xd800 && unit <= 0xdfff) return null
  const folded = isFolded(unit) ? folding(unit) : String.fromCharCode(unit)
  others[unit] = folded === '' ? 0 : folded.charCodeAt(0)
  if (unit > 127) readings[unit] = folded === '' ? NOTHING : others[unit] === unit ? PLAIN : OTHER
  return folded === '' ? -1 : others[unit]!
}

/** Whether a character is read as something else, or as nothing. */
export const isFolded = (codePoint: number): boolean =>
  digits.has(codePoint) || FOLDED.test(String.fromCodePoint(codePoint))

const folds = new Map<number, string>()
/** Characters that fold are some thousands; entities can name any. */
const FOLDS_MAX = 20_000

export function folding(codePoint: number): string {
  let folded = folds.get(codePoint)
  if (folded === undefined) {
    folded = foldAnew(String.fromCodePoint(codePoint))
    if (folds.size < FOLDS_MAX) folds.set(codePoint, folded)
  }
  return folded
}

/** Nothing, where nobody sees it. Never longer than the character. */
function foldAnew(character: string): string {
  const digit = digits.get(character.codePointAt(0)!)
  if (digit !== undefined) return digit
  if (/[\t-\r\p{Zs}\u2028\u2029\u0085\u2800]/u.test(character)) return character < '\x80' ? character : ' '
  if (/[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]/u.test(character)) return ''
  if (character.charCodeAt(0) < 128) return character
  if (/[\p{Pd}\u2212\u02d7\u2043]/u.test(character)) return '-'
  if (/[\u2044\u2215]/u.test(character)) return '/'
  if (/[\u2027\u2219\u22c5\u25aa\u25cf\u25e6\u30fb\uff65]/u.test(character)) return '•'
  if (/\p{Nd}/u.test(character)) return String(digitValue(character))
  const plain = character.normalize('NFKC')
  return plain.length === 1 && plain.charCodeAt(0) < 128 ? plain : character
}

/** Decimal digits of a script stand in a row, from zero to nine; styles of one script stand row behind row. */
function digitValue(digit: string): number {
  const plain = digit.normalize('NFKC')
  if (/^[0-9]$/.test(plain)) return Number(plain)
  const codePoint = digit.codePointAt(0)!
  let before = 0
  while (before < 50 && /\p{Nd}/u.test(String.fromCodePoint(codePoint - before - 1))) before++
  return before % 10
}
