// The strict address parser that stands in front of everything. One string is exactly one mailbox or it is nothing:
// the libraries behind are parsers, not validators, and may turn one string into two recipients.

import assert from 'node:assert/strict'
import { domainToASCII } from 'node:url'
import { decodeWords, encodeWords, isPlainHeaderText } from '../mime/encoded-words.ts'
import { trimOf } from '../text/trim.ts'

export type Address = {
  /** The display name, decoded, or null. */
  name: string | null
  /** The local part as it goes on the wire: quoted only where it must be. Its case is the receiver's affair. */
  local: string
  /** Lower-case ASCII, IDNA applied. */
  domain: string
  /** `local@domain`. */
  address: string
  /** The local part is not ASCII, so only a receiver with SMTPUTF8 (RFC 6531) can take it. */
  smtputf8: boolean
}

const TEXT_CHARS_MAX = 998 // one line of a header, RFC 5322 §2.1.1; of a name as it reads, decoded
/**
 * A name that reads within that limit is longer as it is written: three bytes for each character, in base64, in encoded-words
 * of 45 bytes. What formatAddress writes must be read again.
 */
const ENCODED_CHARS_MAX = 5_000
const LOCAL_BYTES_MAX = 64 // RFC 5321 §4.5.3.1.1
const ADDRESS_BYTES_MAX = 254 // a path is 256 with its angle brackets, RFC 5321 §4.5.3.1.3
const DOMAIN_CHARS_MAX = 253 // 255 octets on the wire of DNS, RFC 1035 §3.1

/** One mailbox from `Display Name <local@domain>` or `local@domain`; null for anything else or anything more. */
export function parseAddress(text: string): Address | null {
  if (text.length > ENCODED_CHARS_MAX || UNSAFE.test(text) || !text.isWellFormed()) return null
  const trimmed = trimBlanks(text)
  if (!trimmed.endsWith('>')) return readMailbox(trimmed, null)
  const phrase = readPhrase(trimmed)
  if (!phrase || (phrase.name?.length ?? 0) > TEXT_CHARS_MAX) return null
  return readMailbox(trimmed.slice(phrase.end + 1, -1), phrase.name)
}

/** One mailbox from a bare `local@domain`, without name, brackets or blanks around it; null for anything else. */
export function parseAddressOnly(text: string): Address | null {
  if (text.length > TEXT_CHARS_MAX || UNSAFE.test(text) || !text.isWellFormed()) return null
  return readMailbox(text, null)
}

/** The address as it stands in a header. The result holds no line break and can be folded at any of its blanks. */
export function formatAddress({ name, address }: Pick<Address, 'name' | 'address'>): string {
  // Values come from parseAddress. Should one ever be made elsewhere, it must still not open a second header line.
  assert(!UNSAFE.test(address), 'an address holds no control characters')
  const safeName = name && trimBlanks(name.replace(ALL_UNSAFE, ' ').replaceAll('\t', ' '))
  return safeName ? `${formatName(safeName)} <${address}>` : address
}

/** A domain name in lower-case ASCII, or null if mail cannot be addressed to it: no dot, an IP address, a bad label. */
export function normaliseDomain(name: string): string | null {
  const ascii = ASCII_HOST.test(name) ? name.toLowerCase() : toAsciiDomain(name)
  if (ascii === null || ascii.length > DOMAIN_CHARS_MAX) return null
  return DOMAIN.test(ascii) ? ascii : null
}

// Everything that could end a line or hide in one: C0, C1 and the Unicode line separators. Tab is left as a blank.
const UNSAFE = /[^\P{Cc}\t]|[\u2028\u2029]/u
const ALL_UNSAFE = /[^\P{Cc}\t]|[\u2028\u2029]/gu

const ASCII_HOST = /^[A-Za-z0-9.-]+$/
// Labels of letters, digits and inner hyphens, at most 63 long (RFC 1035 §2.3.4), at least two of them. The last begins
// with a letter, as every top-level domain does, which also shuts out 127.0.0.1 and 0x7f.1 in all their spellings.
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

function toAsciiDomain(name: string): string | null {
  // domainToASCII reads its argument as the host of a URL: it would drop a path and decode percent signs. So only
  // letters, digits, hyphen, dot and visible non-ASCII characters may reach it.
  if (/[^A-Za-z0-9.\-\u0080-\u{10ffff}]|[\p{C}\p{Z}]/u.test(name)) return null
  return domainToASCII(name) || null
}

// RFC 5322 §3.2.3 atext, and the non-ASCII characters that RFC 6532 §3.2 adds to it, in words parted by single dots.
const ASCII_DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+)*$/u

function readMailbox(spec: string, name: string | null): Address | null {
  const split = spec.startsWith('"') ? splitQuotedLocal(spec) : splitAtSign(spec)
  if (!split) return null
  const domain = normaliseDomain(split.domain)
  if (domain === null) return null
  const local = ASCII_DOT_ATOM.test(split.local) ? split.local : normaliseLocal(split)
  // Some systems decode encoded-words (RFC 2047) wherever they stand, and would see another address in them.
  if (local === null || local.includes('=?')) return null
  const address = `${local}@${domain}`
  const localBytes = Buffer.byteLength(local)
  if (localBytes > LOCAL_BYTES_MAX || localBytes + 1 + domain.length > ADDRESS_BYTES_MAX) return null
  return { name, local, domain, address, smtputf8: localBytes !== local.length }
}

type SplitSpec = { local: string; domain: string; quoted: boolean }

function splitAtSign(spec: string): SplitSpec | null {
  const at = spec.indexOf('@')
  return at > 0 ? { local: spec.slice(0, at), domain: spec.slice(at + 1), quoted: false } : null
}

function splitQuotedLocal(spec: string): SplitSpec | null {
  const string = readQuotedString(spec, 0)
  if (!string || string.content === '' || spec[string.end] !== '@') return null
  return { local: string.content, domain: spec.slice(string.end + 1), quoted: true }
}

/** The local part in one spelling: NFC, quotes dropped where they are not needed. */
function normaliseLocal({ local, quoted }: SplitSpec): string | null {
  const composed = local.normalize('NFC')
  if (composed.includes('\t') || hidesSpecials(composed)) return null
  if (DOT_ATOM.test(composed)) return composed
  // Parsers disagree on blanks at the edges and on quotes and backslashes inside: one trims or unescapes where another
  // does not, and so means another mailbox. Nobody has such an address.
  if (/^ | $|["\\]/.test(composed)) return null
  return quoted ? `"${composed}"` : null
}

// Blank or invisible characters outside ASCII, and full-width twins of `@`, `<` or `,`: a system behind us that folds
// compatibility characters (NFKC) would see another address, or two, where we saw one.
function hidesSpecials(local: string): boolean {
  for (const char of local) {
    if (char.charCodeAt(0) < 0x80) continue
    if (/[\p{C}\p{Z}]/u.test(char) || /[\s"(),.:;<>@[\\\]]/.test(char.normalize('NFKC'))) return true
  }
  return false
}

/**
 * The words before the angle bracket that opens the address, and where that bracket is. A word is a quoted string or a
 * run of atom characters; dots are let through (`John Q. Public`, RFC 5322 §4.1 obs-phrase). Comments, groups and lists
 * are refused, because `(`, `:`, `;` and `,` are in no word.
 */
function readPhrase(text: string): { name: string | null; end: number } | null {
  const words: string[] = []
  let atoms = ''
  let at = 0
  while (text[at] !== '<') {
    const quoted = text[at] === '"' ? readQuotedString(text, at) : null
    const atom = quoted ? null : readAtom(text, at)
    const end = quoted?.end ?? at + (atom?.length ?? 0)
    if (end === at) return null
    const next = skipBlanks(text, end)
    if (next === end && text[end] !== '<') return null
    if (atom !== null) atoms += atoms ? ` ${atom}` : atom
    if (quoted) {
      if (atoms) words.push(decodeWords(atoms))
      atoms = ''
      words.push(quoted.content)
    }
    at = next
  }
  if (atoms) words.push(decodeWords(atoms))
  const name = trimBlanks(words.join(' '))
  // An encoded-word may decode to a line break, and a quoted string may hold a tab.
  if (UNSAFE.test(name) || name.includes('\t')) return null
  return { name: name === '' ? null : name, end: at }
}

const ATOM = /[\w!#$%&'*+./=?^`{|}~\u0080-\u{10ffff}-]+/uy

function readAtom(text: string, at: number): string | null {
  ATOM.lastIndex = at
  return ATOM.exec(text)?.[0] ?? null
}

const QUOTED_STRING = /"((?:[^"\\]|\\.)*)"/uy

function readQuotedString(text: string, at: number): { content: string; end: number } | null {
  QUOTED_STRING.lastIndex = at
  const match = QUOTED_STRING.exec(text)
  return match && { content: match[1]!.replace(/\\(.)/gu, '$1'), end: at + match[0].length }
}

function skipBlanks(text: string, at: number): number {
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}

const trimBlanks = (text: string): string => trimOf(text, ' \t')

// A word this long cannot be folded into lines of 78, so it is cut into encoded-words instead.
const UNFOLDABLE_CHARS = 60

function formatName(name: string): string {
  if (!isPlainHeaderText(name) || name.split(' ').some(word => word.length > UNFOLDABLE_CHARS)) return encodeWords(name)
  if (/^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/.test(name)) return name
  return `"${name.replace(/["\\]/g, '\\$&')}"`
}

/** As addresses are stored; what is none is answered as it stands, and so found nowhere. */
export const normaliseAddress = (text: string): string => parseAddress(text)?.address ?? text
