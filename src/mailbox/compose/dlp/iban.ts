// Account numbers of the IBAN form (ISO 13616): country, two check digits, then as many digits and letters as the country
// has, with a remainder of one (mod 97), whatever stands between the characters.
import { isBlankAt, isDigitAt, isGapAt, isLetterAt, isWordAt, type Codes } from './characters.ts'
import type { Match } from './match.ts'
import { isInTable } from './rows.ts'

/**
 * What follows the check digits: n digits, a letters, c either. From the registry of IBANs; then what banks of other countries
 * use without being registered, where two lengths are in use both; then territories that use the form of their country.
 */
const STRUCTURES = `
  AD 8n12c AE 19n AL 8n16c AT 16n AZ 4a20c BA 16n BE 12n BG 4a6n8c BH 4a14c BR 23n1a1c BY 4c4n16c CH 5n12c CR 18n
  CY 8n16c CZ 20n DE 18n DJ 23n DK 14n DO 4c20n EE 16n EG 25n ES 20n FI 14n FK 2a12n FO 14n FR 10n11c2n GB 4a14n GE 2a16n
  GI 4a15c GL 14n GR 7n16c GT 4c20c HN 4a20n HR 17n HU 24n IE 4a14n IL 19n IQ 4a15n IS 22n IT 1a10n12c JO 4a4n18c
  KW 4a22c KZ 3n13c LB 4n20c LC 4a24c LI 5n12c LT 16n LU 3n13c LV 4a13c LY 21n MC 10n11c2n MD 20c ME 18n MK 3n10c2n
  MN 16n MR 23n MT 4a5n18c MU 4a19n3a NI 4a20n NL 4a10n NO 11n OM 3n16c PK 4a16c PL 24n PS 4a21c PT 21n QA 4a21c RO 4a16c
  RS 18n RU 14n15c SA 2n18c SC 4a20n3a SD 14n SE 20n SI 15n SK 20n SM 1a10n12c SO 19n ST 21n SV 4a20n TL 19n TN 20n
  TR 6n16c UA 6n19c VA 18n VG 4a16n XK 16n YE 4a4n18c
  AO 21n BF 2c22n BF 23n BI 12n BI 23n BJ 2c22n CF 23n CG 23n CI 2c22n CM 23n CV 21n DZ 20n DZ 22n GA 23n GQ 23n GW 2c19n
  IR 22n KM 23n MA 24n MG 23n ML 2c22n MZ 21n NE 2a22n SN 2c22n TD 23n TG 2a22n
  AX 14n BL 10n11c2n GF 10n11c2n GG 4a14n GP 10n11c2n IM 4a14n JE 4a14n MF 10n11c2n MQ 10n11c2n NC 10n11c2n PF 10n11c2n
  PM 10n11c2n RE 10n11c2n TF 10n11c2n WF 10n11c2n YT 10n11c2n`

const [ZERO, A] = [48, 65]
/** Takes the bit away that makes a letter of ASCII small. */
const UPPER = 0xdf

/** For each place of a number: a digit, a letter, or either. */
type Structure = Uint8Array
const [DIGIT, LETTER] = [1, 2]
const KINDS: Readonly<Record<string, number>> = { n: DIGIT, a: LETTER, c: DIGIT | LETTER }

/** By the two letters of a country, as one number. Most words of two letters before a number are none. */
const structures: (Structure[] | undefined)[] = Array.from({ length: 26 * 26 })
for (const [, country, form] of STRUCTURES.matchAll(/([A-Z]{2}) (\S+)/g)) {
  const key = countryKey(country!.charCodeAt(0), country!.charCodeAt(1))
  structures[key] = [...(structures[key] ?? []), structureOf(form!)]
}

/** Of letters of either case. */
function countryKey(first: number, second: number): number {
  return ((first & UPPER) - A) * 26 + (second & UPPER) - A
}

function structureOf(text: string): Structure {
  const kinds = [LETTER, LETTER, DIGIT, DIGIT]
  for (const [, count, kind] of text.matchAll(/(\d+)([nac])/g)) {
    for (let n = 0; n < Number(count); n++) kinds.push(KINDS[kind!]!)
  }
  return Uint8Array.from(kinds)
}

/** Characters between two of the number; blanks in a row count once, and so does a repeated mark. */
const GAP_MAX = 3

/** The number whose first digit stands here, at the beginning of a row of digits: digits are much rarer than letters. */
export function ibanAround(given: Codes, digit: number): Match | null {
  const second = letterBefore(given, digit, GAP_MAX)
  const first = second === -1 ? -1 : letterBefore(given, second, GAP_MAX - 1)
  if (first === -1) return null
  const known = structures[countryKey(given.codes[first]!, given.codes[second]!)]
  return known && mayBeginAt(given, first) ? ibanAt(given, first, known) : null
}

function letterBefore(given: Codes, from: number, gapMax: number): number {
  let gap = 0
  for (let at = from - 1; at >= 0; at--) {
    if (isLetterAt(given, at)) return at
    if (!isGapAt(given, at)) return -1
    if (!isRepeated(given, at, at + 1) && ++gap > gapMax) return -1
  }
  return -1
}

/** Whether both are blanks, or the same mark. */
const isRepeated = (given: Codes, at: number, other: number): boolean =>
  given.codes[at] === given.codes[other] || (isBlankAt(given, at) && isBlankAt(given, other))

function ibanAt(given: Codes, start: number, known: readonly Structure[]): Match | null {
  for (const structure of known) {
    const end = gather(given, start, structure)
    if (end === -1 || isWithinWord(given, end) || remainderOf(structure.length) !== 1) continue
    if (hasColumns(given, start, end) && isInTable(given, start, end)) continue
    const value = Buffer.from(gathered.subarray(0, structure.length)).toString('latin1')
    return { detector: 'iban', label: `IBAN (${value.slice(0, 2)})`, value, start, end }
  }
  return null
}

const COLUMN_BLANKS_MIN = 5
/** As a number is printed on paper. */
const GROUP_CHARS = 4

/** Gaps as wide as between columns, and not after every fourth character: a country and figures that pass by chance. */
function hasColumns(given: Codes, start: number, end: number): boolean {
  let [count, blanks, isWide, isGrouped] = [0, 0, false, true]
  for (let at = start; at < end; at++) {
    if (isWordAt(given, at)) {
      if (blanks > 0 && count % GROUP_CHARS !== 0) isGrouped = false
      if (blanks >= COLUMN_BLANKS_MIN) isWide = true
      blanks = 0
      count++
    } else blanks++
  }
  return isWide && !isGrouped
}

const N = 110

/** Not within a word, but for the word that announces it. */
const mayBeginAt = (given: Codes, start: number): boolean =>
  !isWordAt(given, start - 1) ||
  ((given.codes[start - 1]! | 32) === N && given.text.slice(start - 4, start).toLowerCase() === 'iban')

/** The next word may have lost its blank, as between cells: the number of the bank is what mostly follows. */
const isWithinWord = (given: Codes, end: number): boolean =>
  isWordAt(given, end) && !/^(?:bic|swift)/i.test(given.text.slice(end, end + 5))

/** No structure is longer. */
const gathered = new Uint8Array(34)

/**
 * Gathers as many letters and digits as the structure has, in upper case, and answers where they end; -1 where one is of the
 * wrong kind or too much stands between.
 */
function gather(given: Codes, start: number, structure: Structure): number {
  let [count, gap] = [0, 0]
  for (let at = start; at < given.codes.length; at++) {
    if (isWordAt(given, at)) {
      const isDigit = isDigitAt(given, at)
      if ((structure[count]! & (isDigit ? DIGIT : LETTER)) === 0) return -1
      gathered[count++] = isDigit ? given.codes[at]! : given.codes[at]! & UPPER
      gap = 0
      if (count === structure.length) return at + 1
    } else if (!isGapAt(given, at) || (!isRepeated(given, at, at - 1) && ++gap > GAP_MAX)) return -1
  }
  return -1
}

/** Of the number that the characters are with country and check digits behind: a letter stands for 10 to 35. */
function remainderOf(length: number): number {
  let remainder = 0
  for (let n = 0; n < length; n++) {
    const code = gathered[(n + 4) % length]!
    remainder = code < A ? (remainder * 10 + code - ZERO) % 97 : (remainder * 100 + code - A + 10) % 97
  }
  return remainder
}
