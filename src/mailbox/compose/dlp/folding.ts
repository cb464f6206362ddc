// What a character outside ASCII is read as. Letters of other scripts have no ASCII form and stay: they only keep digits apart.

const FOLDED = new RegExp(
  [
    String.raw`^[\p{Nd}\p{Cf}\p{Mn}\p{Me}\p{Zs}\p{Pd}\p{No}\u2028\u2029\u0085\u2212\u02d7\u2043\u00ba\u00aa`,
    String.raw`\u24b6-\u24e9\uff01-\uff5e\u{1d400}-\u{1d7ff}\u{1f130}-\u{1f189}]`,
  ].join(''),
  'v',
)

/**
 * Which UTF-16 units are known to be read as they stand: all of ASCII but what begins a tag or an entity, and others once they
 * were asked for. A pattern for every letter of a Russian mail would cost more than all detectors.
 */
const isPlain = new Uint8Array(0x10000).fill(1, 0, 128)
for (const mark of '<&') isPlain[mark.charCodeAt(0)] = 0

/** Where the characters end that are known to be read as they stand. */
export function endOfPlain(codes: Uint16Array, from: number, to: number): number {
  let at = from
  while (at < to && isPlain[codes[at]!] === 1) at++
  return at
}

/** Whether a character is read as something else, or as nothing. */
export function isFolded(codePoint: number): boolean {
  const folds = FOLDED.test(String.fromCodePoint(codePoint))
  // Half of a pair that stands alone is no character, and the same unit begins others.
  if (!folds && codePoint <= 0xffff && !(codePoint >= 0xd800 && codePoint <= 0xdbff)) isPlain[codePoint] = 1
  return folds
}

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

/** Nothing, where nobody sees it. */
function foldAnew(character: string): string {
  if (character.charCodeAt(0) < 128) return character
  if (/[\p{Cf}\p{Mn}\p{Me}]/u.test(character)) return ''
  if (/[\p{Zs}\u2028\u2029\u0085]/u.test(character)) return ' '
  if (/[\p{Pd}\u2212\u02d7\u2043]/u.test(character)) return '-'
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
