// Undoes what hides words from a search but not from a machine that reads: invisible characters, twins of letters, letters set
// apart, digits for letters, letters in disorder. Everything here takes time in proportion to the text.
import { LATIN_TWIN } from './confusables.ts'

/** More than this of one text is not looked at; it is as much as a mail's text may have. */
const TEXT_CHARS_MAX = 2_000_000

/** Lower case, without accents and invisible characters, in Latin letters where a word only imitates them. */
export function normalise(text: string): string {
  const cut = text.slice(0, TEXT_CHARS_MAX)
  const letters = IS_ASCII.test(cut)
    ? joinSpaced(cut.toLowerCase().replaceAll(/n't\b/g, 'nt'), SPACED_ASCII)
    : joinSpaced(foldUnicode(cut).replaceAll(/n['’]t\b/g, 'nt'), SPACED)
  return unscramble(unleet(letters))
}

const IS_ASCII = /^[\0-\x7f]*$/ // oxlint-disable-line no-control-regex

function foldUnicode(text: string): string {
  const folded = text
    .normalize('NFKD')
    .replaceAll(INVISIBLE, '')
    .toLowerCase()
    .replaceAll(/[łøđıßæœ’]/g, letter => PLAIN[letter]!)
  return /[\u0370-\u058f\u0250-\u02af\u1d00-\u1dbf\u2c00-\u2c5f\u01c0\u0192\u0185]/.test(folded)
    ? foldTwins(folded)
    : folded
}

/** Marks, format characters and blanks of no width. The accents are marks too once letters are decomposed. */
const INVISIBLE = /[\p{M}\p{Cf}\u115f\u1160\u3164\uffa0\u2800]+/gu
const PLAIN: Record<string, string> = { ł: 'l', ø: 'o', đ: 'd', ı: 'i', ß: 'ss', æ: 'ae', œ: 'oe', '’': "'" }

/** Words that mix Latin letters with twins of other scripts. Words of one script are left: Russian is no imitation. */
function foldTwins(text: string): string {
  return text.replaceAll(/\p{L}+/gu, word => {
    if (!/[a-z]/.test(word) && !Array.from(word).every(char => LATIN_TWIN.has(char) && !RUSSIAN.test(char))) return word
    let folded = ''
    for (const char of word) folded += LATIN_TWIN.get(char) ?? char
    return folded
  })
}

const RUSSIAN = /[а-яё]/

/** Letters set apart by blanks, dots or other signs: `i g n o r e`. */
function joinSpaced(text: string, spaced: RegExp): string {
  return text.replaceAll(spaced, run => run.replaceAll(/[^\p{L}]/gu, ''))
}

const SPACED = /(?<![\p{L}\p{N}])(?:\p{L}[ .\-_*·|]){4,400}\p{L}(?![\p{L}\p{N}])/gu
/** The same for text in ASCII, which most of it is, in a fraction of the time. */
const SPACED_ASCII = /(?<![a-z0-9])(?:[a-z][ .\-_*|]){4,400}[a-z](?![a-z0-9])/g

/** Digits and signs that stand for letters within a word: `1gn0re`. Numbers, ids and versions stay as they are. */
function unleet(text: string): string {
  // Whatever is changed below has such a sign before a letter.
  if (!/[013457@$!][a-z]/.test(text)) return text
  return text.replaceAll(/(?<![\w@./:-])(?=[a-z]{0,40}[013457@$!])[a-z0134578@$!]{4,40}(?![\w@-]|\.\w)/g, word => {
    const letters = word.match(/[a-z]/g)?.length ?? 0
    if (letters === word.length || letters < 2 || /^[a-z]+[\d!@$]+$/.test(word) || /^\d+[a-z]+$/.test(word)) return word
    return word.replaceAll('11', 'll').replaceAll(/[013457@$!]/g, sign => LEET[sign]!)
  })
}

const LEET: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

/** Words that a model reads with their inner letters in any order, as people do: `ignroe`. */
function unscramble(text: string): string {
  return text.replaceAll(SCRAMBLED, word => IN_ORDER.get(sortedInside(word)) ?? word)
}

const SCRAMBLED = new RegExp(
  [
    String.raw`\b(?:i[gnor]{4}e|p[reviou]{6}s|i[nstrucio]{10}s|d[isregar]{7}d|o[verid]{6}e`,
    String.raw`s[yste]{4}m|p[romp]{4}t|b[ypas]{4}s|r[eva]{4}l)\b`,
  ].join('|'),
  'g',
)
const sortedInside = (word: string): string =>
  word[0]! + Array.from(word.slice(1, -1)).toSorted().join('') + word.at(-1)!
const IN_ORDER = new Map(
  'ignore previous instructions disregard override system prompt bypass reveal'
    .split(' ')
    .map(word => [sortedInside(word), word]),
)

/** Text in the tag characters of Unicode, which no reader shows. Flags of regions are made of them too, and are no text. */
export function tagText(text: string): string {
  if (!text.includes('\udb40')) return ''
  const visible = text.slice(0, TEXT_CHARS_MAX).replaceAll(/\u{1f3f4}[\u{e0061}-\u{e007a}]{1,6}\u{e007f}/gu, '')
  let hidden = ''
  for (const [run] of visible.matchAll(/[\u{e0020}-\u{e007e}]+/gu)) {
    for (const char of run) hidden += String.fromCodePoint(char.codePointAt(0)! - 0xe0000)
    hidden += ' '
  }
  return hidden.trim()
}

/** What a text says once more in another code: base64, hexadecimal, percent signs, letters moved by thirteen or in reverse. */
export function* decodings(text: string, plain: string): Generator<{ how: string; text: string }> {
  let count = 0
  for (const run of base64Runs(text.slice(0, TEXT_CHARS_MAX))) {
    if (++count > DECODINGS_MAX) break
    const decoded = Buffer.from(run.slice(0, 8_192), 'base64').toString('utf8')
    if (isWords(decoded)) yield { how: 'base64', text: decoded }
    const bytes = /^(?:[2-7][0-9a-f])+$/i.test(run) ? Buffer.from(run.slice(0, 8_192), 'hex').toString('latin1') : ''
    if (isWords(bytes)) yield { how: 'hexadecimal', text: bytes }
  }
  const escaped = text.includes('%20') ? escapedWords(text.slice(0, TEXT_CHARS_MAX)) : ''
  if (escaped !== '') yield { how: 'percent signs', text: escaped }
  if (ROT13_WORDS.test(plain)) yield { how: 'rot13', text: rot13(plain) }
  if (REVERSED_WORDS.test(plain)) yield { how: 'reversed letters', text: Array.from(plain).toReversed().join('') }
}

const DECODINGS_MAX = 200

/** Of links and the like, those that hold a sentence. */
const escapedWords = (text: string): string =>
  (text.match(/\S+/g) ?? [])
    .filter(word => word.split('%20', 4).length === 4)
    .slice(0, DECODINGS_MAX)
    .map(word => word.replaceAll(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))))
    .join('\n')

/**
 * Long runs of its characters. A pattern would begin anew at each character of each word; here the end of what could be a run
 * is looked at first, so that most characters of a text are not.
 */
function* base64Runs(text: string): Generator<string> {
  for (let start = 0; start + BASE64_CHARS_MIN <= text.length;) {
    let end = start + BASE64_CHARS_MIN
    let at = end - 1
    while (at >= start && isBase64(text.charCodeAt(at))) at--
    if (at >= start) {
      start = at + 1
      continue
    }
    while (isBase64(text.charCodeAt(end))) end++
    yield text.slice(start, end)
    start = end
  }
}

const BASE64_CHARS_MIN = 24
const BASE64 = Uint8Array.from({ length: 128 }, (_, code) => Number(/[\w+/-]/.test(String.fromCharCode(code))))
const isBase64 = (code: number): boolean => code < 128 && BASE64[code] === 1

const isWords = (text: string): boolean =>
  text.length >= 12 && /^[\p{L}\p{N}\p{P}\p{Zs}\p{S}\r\n\t]+$/u.test(text) && /\p{L}{2,}\s\p{L}{2,}/u.test(text)

const ROT13_WORDS = /\b(?:vafgehpgvba|vtaber|qvfertneq|flfgrz cebzcg|sbejneq|cerivbhf)/
const REVERSED_WORDS = /(?:snoitcurtsni|erongi\b|drawrof\b|tpmorp metsys|suoiverp)/

const rot13 = (text: string): string =>
  text.replaceAll(/[a-z]/g, char => String.fromCharCode(((char.charCodeAt(0) - 84) % 26) + 97))
