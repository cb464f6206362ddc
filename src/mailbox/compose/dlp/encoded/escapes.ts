// What words with escapes in them stand for: `%20` of links, `=20` of mail, `\x20` and `\u0020` of programs.
import type { Codes } from '../characters.ts'

interface Kind {
  /** By what it is found first: reading every character of every mail for a pattern costs more. */
  beginnings: readonly string[]
  /** Whether there is one: what follows an equals sign is mostly a value. */
  at: RegExp
  escape: RegExp
}

const KINDS: readonly Kind[] = [
  { beginnings: ['%'], at: /%[0-9a-f]{2}/iy, escape: /%([0-9a-f]{2})/gi },
  {
    beginnings: ['=20', '=2D', '=3'],
    at: /(?:=[0-9A-F]{2}){2}|=2[0D][^\s=]{1,60}=(?:2[0D]|\r?\n)/y,
    escape: /=(?:([0-9A-F]{2})|\r?\n)/g,
  },
  {
    beginnings: [String.raw`\x`, String.raw`\u00`],
    at: /\\(?:x|u00)[0-9a-f]{2}/iy,
    escape: /\\(?:x|u00)([0-9a-f]{2})/gi,
  },
]

/** So much of a word before an escape belongs to it, and so much of it is read at once. */
const BEFORE_MAX = 200
const WORD_MAX = 4_000

/** The words with their escapes decoded, with a character between that belongs to no number, word or token. */
export function unescapedIn(given: Codes): string {
  const words: string[] = []
  for (const kind of KINDS) {
    for (const beginning of kind.beginnings) {
      for (let at = given.text.indexOf(beginning); at !== -1;) {
        kind.at.lastIndex = at
        const end = kind.at.test(given.text) ? endOfWord(given, at) : at + 1
        if (end > at + 1) words.push(decoded(given.text.slice(beginOfWord(given, at), end), kind.escape))
        at = given.text.indexOf(beginning, end)
      }
    }
  }
  return words.join('^')
}

const [NEW_LINE, RETURN, BLANK, QUOTE, LESS, EQUALS, GREATER] = [10, 13, 32, 34, 60, 61, 62]

const isEnd = (code: number): boolean => code <= BLANK || code === QUOTE || code === LESS || code === GREATER

function beginOfWord({ codes }: Codes, from: number): number {
  let at = from
  while (at > 0 && at > from - BEFORE_MAX && !isEnd(codes[at - 1]!)) at--
  return at
}

function endOfWord({ codes }: Codes, from: number): number {
  let at = from
  for (; at < codes.length && at < from + WORD_MAX; at++) {
    const code = codes[at]!
    const isSoft = (code === NEW_LINE || code === RETURN) && (codes[at - 1] === EQUALS || codes[at - 2] === EQUALS)
    if (isEnd(code) && !isSoft) break
  }
  return at
}

/** In a word of ASCII the escapes are bytes of UTF-8. */
function decoded(word: string, escape: RegExp): string {
  const bytes = word.replaceAll(escape, byteOf)
  return Buffer.byteLength(word) === word.length ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes
}

/** A line of mail that goes on in the next has no digits. */
const byteOf = (_: string, hex: string | undefined): string =>
  hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16))
