// Private keys, and tokens of clouds and APIs by the form that their issuers gave them so that they can be found.
import type { Codes, Word } from './characters.ts'
import type { Match } from './match.ts'
import { splitTokensIn } from './split-tokens.ts'
import { tokensIn } from './tokens.ts'
import { isDense, isRandom, isVaried } from './random.ts'

/** The words are the long ones of the text. */
export function* secretsIn(given: Codes, words: readonly Word[]): Generator<Match> {
  yield* privateKeysIn(given.text)
  yield* tokensIn(given, words)
  yield* splitTokensIn(given)
  yield* assignedIn(given.text)
}

/** In small letters only behind dashes: sentences begin with private keys, too. */
const KEY_HEADING = new RegExp(
  [
    String.raw`BEGIN[ \t]{0,3}([A-Z0-9 ]{0,24}?)[ \t]{0,3}PRIVATE[ \t]{0,3}KEY(?:[ \t]{0,3}BLOCK)?`,
    String.raw`--[ \t]{0,3}[Bb][Ee][Gg][Ii][Nn][ \t]{0,3}([A-Za-z0-9 ]{0,24}?)[ \t]{0,3}[Pp]rivate[ \t]{0,3}[Kk]ey`,
    String.raw`PuTTY-User-Key-File-\d`,
    String.raw`AGE-SECRET-KEY-1[A-Z0-9]{20}`,
  ].join('|'),
  'g',
)
/** Behind blanks and dashes, and before the next heading. */
const KEY_BODY_CHARS_MAX = 4_000
/** Base64: a run longer than nearly all words, or lines of it with white space and marks of quotation between. */
const KEY_BODY = /[A-Za-z0-9+/]{16}|[A-Za-z0-9+/](?:[\s>|*"'\\n]{0,4}[A-Za-z0-9+/=]){39}/
/** Of the lines that follow a heading: a block has its end, however little it holds. */
const KEY_BLOCK = /^-{2,}\s*\n\s*[^\s-][^-]*\n[\s>|*]*-{2,}[ \t]{0,3}END[ \t]/i

/** Patterns that begin with a choice are slow, and hardly any mail has these words. */
const mayHoldKey = (text: string): boolean =>
  ['PRIVATE', 'rivate', 'PuTTY-User-Key', 'AGE-SECRET-KEY'].some(word => text.includes(word))

/** How keys begin in base64 when nothing heads them: RSA, RSA and elliptic curves in PKCS 8, Ed25519, OpenSSH. */
const BARE_KEY = new RegExp(
  [
    String.raw`\bMII[A-Za-z0-9+/]{3}IBAAK[BC][A-Za-z0-9+/]{12}`,
    String.raw`\bMII[A-Za-z0-9+/]{3}IBADANBgkqhkiG9w0BAQEFAAS[BC]`,
    String.raw`\bMI[GH][A-Za-z0-9+/]AgEAMB[AM]GByqGSM49AgEG`,
    String.raw`\bMC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/]{12}`,
    String.raw`\bb3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{12}`,
  ].join('|'),
)

const mayHoldBareKey = (text: string): boolean =>
  ['IBAAK', 'IBADANBg', 'AgEAMB', 'MC4CAQAw', 'b3BlbnNzaC1r'].some(beginning => text.includes(beginning))

function* privateKeysIn(text: string): Generator<Match> {
  let hasHeaded = false
  for (const headed of headedKeysIn(text)) {
    hasHeaded = true
    yield headed
  }
  const bare = !hasHeaded && mayHoldBareKey(text) ? BARE_KEY.exec(text) : null
  if (!bare) return
  const end = bare.index + bare[0].length
  yield { detector: 'private_key', label: 'Private key', value: bare[0], start: bare.index, end }
}

/** The heading and some of what it heads: a text that only names the heading gives nothing away. */
function* headedKeysIn(text: string): Generator<Match> {
  if (!mayHoldKey(text)) return
  const headings = [...text.matchAll(KEY_HEADING)]
  for (const [index, found] of headings.entries()) {
    const end = found.index + found[0].length
    const isBare = found[0].startsWith('AGE')
    if (!isBare && !headsKey(text, end, headings[index + 1]?.index ?? text.length)) continue
    const kind = (found[1] ?? found[2])?.trim()
    const label = kind ? `Private key (${kind})` : 'Private key'
    yield { detector: 'private_key', label, value: found[0], start: found.index, end }
  }
}

function headsKey(text: string, from: number, next: number): boolean {
  let at = from
  while (at < next && (text.charCodeAt(at) <= 32 || text[at] === '-')) at++
  const body = text.slice(at, Math.min(next, at + KEY_BODY_CHARS_MAX))
  return KEY_BODY.test(body) || KEY_BLOCK.test(text.slice(from, Math.min(next, from + KEY_BODY_CHARS_MAX)))
}

/** A name that says secret, then a value that nobody would type. */
const ASSIGNED = new RegExp(
  [
    String.raw`(?:secret|token|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|client[\s_-]?secret|auth[\s_-]?key)`,
    String.raw`["'\`]?(?:\s{1,3}(?:is|lautet|est))?(?:\s{0,40}(?:=>|:=|[=:])\s{0,40}|\s{1,6})["'\`]?`,
    String.raw`([A-Za-z0-9+/_=.-]{20,200})`,
  ].join(''),
  'gi',
)
const BEARER = /\bBearer\s{1,3}([A-Za-z0-9+/_=.~-]{20,400})/g

function* assignedIn(text: string): Generator<Match> {
  for (const [form, label] of [
    [ASSIGNED, 'Secret'],
    [BEARER, 'Bearer token'],
  ] as const) {
    for (const found of text.matchAll(form)) {
      const value = found[1]!.replace(/[.=]+$/, '')
      if (!isCloudSecret(value) && (!isDense(value) || !isRandom(value))) continue
      const end = found.index + found[0].length
      yield { detector: 'api_token', label, value, start: end - found[1]!.length, end }
    }
  }
}

/** A secret access key of Amazon's has no prefix, but a length. The one of its manual says that it is an example. */
const isCloudSecret = (value: string): boolean =>
  /^[A-Za-z0-9+/]{40}$/.test(value) && [/[A-Z]/, /[a-z]/, /\d/].every(some => some.test(value)) && isVaried(value)
