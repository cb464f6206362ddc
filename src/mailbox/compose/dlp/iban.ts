// Account numbers of the IBAN form (ISO 13616): country, two check digits, then as many digits and letters as the country
// has, with a remainder of one (mod 97), whatever stands between the characters.
import { isDigitAt, isGapAt, isLetterAt, isWordAt, type Codes } from './characters.ts'
import type { Match } from './match.ts'

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

interface Structure {
  /** For each place: n a digit, a a letter, c either. */
  kinds: string
}

const structures = new Map<string, Structure[]>()
for (const [, country, form] of STRUCTURES.matchAll(/([A-Z]{2}) (\S+)/g)) {
  structures.set(country!, [...(structures.get(country!) ?? []), structureOf(form!)])
}

function structureOf(text: string): Structure {
  let kinds = 'aann'
  for (const [, count, kind] of text.matchAll(/(\d+)([nac])/g)) kinds += kind!.repeat(Number(count))
  return { kinds }
}

const GAP_MAX = 3

/** From each first digit the two letters before it are looked for: digits are much rarer than letters. */
export function ibansIn(given: Codes, digitRuns: readonly number[]): Match[] {
  const matches: Match[] = []
  let end = 0
  for (const start of digitRuns) {
    const match = start < end ? null : ibanAround(given, start)
    if (!match) continue
    matches.push(match)
    end = match.end
  }
  return matches
}

function ibanAround(given: Codes, digit: number): Match | null {
  const second = letterBefore(given, digit, GAP_MAX)
  const first = second === -1 ? -1 : letterBefore(given, second, GAP_MAX - 1)
  if (first === -1 || !mayBeginAt(given, first)) return null
  return ibanAt(given, first, (given.text[first]! + given.text[second]!).toUpperCase())
}

function letterBefore(given: Codes, from: number, gapMax: number): number {
  for (let at = from - 1; at >= 0 && at >= from - 1 - gapMax; at--) {
    if (isLetterAt(given, at)) return at
    if (!isGapAt(given, at)) return -1
  }
  return -1
}

function ibanAt(given: Codes, start: number, country: string): Match | null {
  for (const structure of structures.get(country) ?? []) {
    const gathered = gather(given, start, structure)
    if (!gathered || isWordAt(given, gathered.end) || remainderOf(gathered.value) !== 1) continue
    return { detector: 'iban', label: `IBAN (${country})`, value: gathered.value, start, end: gathered.end }
  }
  return null
}

const N = 110

/** Not within a word, but for the word that announces it. */
const mayBeginAt = (given: Codes, start: number): boolean =>
  !isWordAt(given, start - 1) ||
  ((given.codes[start - 1]! | 32) === N && given.text.slice(start - 4, start).toLowerCase() === 'iban')

/** As many letters and digits as the structure has, in upper case; null where one is of the wrong kind or too much between. */
function gather(given: Codes, start: number, { kinds }: Structure): { value: string; end: number } | null {
  const codes: number[] = []
  let gap = 0
  for (let at = start; at < given.codes.length; at++) {
    if (isWordAt(given, at)) {
      const isDigit = isDigitAt(given, at)
      const kind = kinds[codes.length]
      if (kind !== 'c' && isDigit !== (kind === 'n')) return null
      codes.push(isDigit ? given.codes[at]! : given.codes[at]! & UPPER)
      gap = 0
      if (codes.length === kinds.length) return { value: String.fromCharCode.apply(null, codes), end: at + 1 }
    } else if (++gap > GAP_MAX || !isGapAt(given, at)) return null
  }
  return null
}

/** Takes the bit away that makes a letter of ASCII small. */
const UPPER = 0xdf

function remainderOf(iban: string): number {
  let remainder = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder
}
