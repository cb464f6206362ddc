// Signs messages by RFC 6376: rsa-sha256 with relaxed canonicalisation of header and body. Our own, because it runs for
// every message: the body is hashed once, mostly without being copied, and RSA runs on the thread pool.

import { createHash, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { fieldSpans, splitSource } from '../mime/headers.ts'
import { generateRsaKey } from './rsa-key.ts'

const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32

/**
 * What a reader sees, or what decides how the body is read. Each is listed once more than it occurs, absent ones
 * included, so that adding one breaks the signature (RFC 6376 §8.15): readers differ in which of two they show.
 */
const OVERSIGNED_FIELDS = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
]

/** Signed as often as they occur. */
const SIGNED_FIELDS = ['In-Reply-To', 'References']

type DkimSigning = {
  source: Buffer
  domain: string
  selector: string
  key: KeyObject
  now: Date
  /** Who does the arithmetic; the thread pool where nobody is named. */
  sign?: (data: Buffer, key: KeyObject) => Promise<Buffer>
}

/** The DKIM-Signature field, folded and with its line break, to be put before the source. */
export async function signDkim(signing: DkimSigning): Promise<string> {
  const { source, domain, selector, key, now, sign: signWith = signInPool } = signing
  const { headerEnd, bodyStart } = splitSource(source)
  const signed = signedFields(source.toString('latin1', 0, headerEnd))
  const field =
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain};\r\n` +
    ` s=${selector}; t=${Math.floor(now.getTime() / 1000)};\r\n` +
    ` bh=${bodyHash(source, bodyStart)};\r\n` +
    ` h=${foldNames(signed.names)};\r\n b=`
  const data = Buffer.from(signed.canonical + canonicalField(field), 'latin1')
  const signature = await signWith(data, key)
  return `${field}${foldBase64(signature.toString('base64'))}\r\n`
}

export interface DkimKey {
  privateKeyPem: string
  publicKeyBase64: string
}

/** A new key pair of 2048 bits, what RFC 8301 §3.2 recommends and a DNS record can still hold. */
export async function generateDkimKey(): Promise<DkimKey> {
  const key = await generateRsaKey()
  return {
    privateKeyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKeyBase64: createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

/** The TXT record that belongs at `<selector>._domainkey.<domain>`. */
export const dkimRecord = (publicKeyBase64: string): string => `v=DKIM1; k=rsa; p=${publicKeyBase64}`

const signAsync = promisify<string, Buffer, KeyObject, Buffer>(sign)
const signInPool = (data: Buffer, key: KeyObject): Promise<Buffer> => signAsync('sha256', data, key)

/** The list of names for `h=`, and the fields in the form that is signed, in the same order. */
function signedFields(block: string): { names: string[]; canonical: string } {
  const fields = new Map<string, string[]>()
  for (const { start, colon, end } of fieldSpans(block)) {
    const name = block.slice(start, colon).trimEnd().toLowerCase()
    const same = fields.get(name)
    if (same) same.push(block.slice(start, end))
    else fields.set(name, [block.slice(start, end)])
  }
  const names: string[] = []
  let canonical = ''
  for (const name of [...OVERSIGNED_FIELDS, ...SIGNED_FIELDS]) {
    // Of several fields with one name the lowest is signed first (RFC 6376 §5.4.2).
    for (const field of (fields.get(name.toLowerCase()) ?? []).toReversed()) {
      names.push(name)
      canonical += `${canonicalField(field)}\r\n`
    }
    if (OVERSIGNED_FIELDS.includes(name)) names.push(name)
  }
  return { names, canonical }
}

/** Relaxed header canonicalisation (RFC 6376 §3.4.2), without the line break at the end. */
function canonicalField(field: string): string {
  const colon = field.indexOf(':')
  const value = field.slice(colon + 1).replaceAll('\r\n', '')
  // A single blank, by far the commonest run, is left alone.
  const collapsed = value.replaceAll(/\t[ \t]*| [ \t]+/g, ' ')
  return `${field.slice(0, colon).trimEnd().toLowerCase()}:${trimBlanks(collapsed)}`
}

// Only blank and tab are white space here; trim() would also take bytes like 0xa0, which the verifier keeps.
const trimBlanks = (value: string): string =>
  value.slice(value.startsWith(' ') ? 1 : 0, value.endsWith(' ') && value !== ' ' ? -1 : value.length)

/** SHA-256 of the relaxed body (RFC 6376 §3.4.4): blanks collapsed, none at line ends, no empty lines at the end. */
function bodyHash(source: Buffer, bodyStart: number): string {
  let end = source.length
  while (end > bodyStart && isLineSpace(source[end - 1]!)) end--
  if (end === bodyStart) return hash('sha256', '', 'base64')
  const body = source.subarray(bodyStart, end)
  if (body.length + 2 <= SCRATCH.length) {
    const length = collapseBlanks(body, SCRATCH)
    CRLF.copy(SCRATCH, length)
    return hash('sha256', SCRATCH.subarray(0, length + 2), 'base64')
  }
  const hasher = createHash('sha256')
  for (let start = 0; start < body.length;) {
    const block = body.subarray(start, blockEnd(body, start))
    start += block.length
    // Base64 has no blanks, and a native search tells so: a large attachment is never walked through byte by byte.
    if (!block.includes(SPACE) && !block.includes(TAB)) hasher.update(block)
    else {
      // Only a single line longer than the scratch buffer, which SMTP forbids, needs a buffer of its own.
      const target = block.length <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(block.length)
      hasher.update(target.subarray(0, collapseBlanks(block, target)))
    }
  }
  return hasher.update(CRLF).digest('base64')
}

const CRLF = Buffer.from('\r\n')
const SCRATCH = Buffer.allocUnsafeSlow(65_536) // filled and hashed within one synchronous call, so it can be shared

const isLineSpace = (byte: number): boolean => byte === SPACE || byte === TAB || byte === CR || byte === LF

/** The end of as many whole lines as fit into the scratch buffer: a run of blanks never lies in two blocks. */
function blockEnd(body: Buffer, start: number): number {
  const limit = start + SCRATCH.length
  if (limit >= body.length) return body.length
  const inside = body.lastIndexOf(LF, limit - 1)
  const feed = inside >= start ? inside : body.indexOf(LF, limit)
  return feed === -1 ? body.length : feed + 1
}

const IS_BLANK = Uint8Array.from({ length: 256 }, (_, byte) => (byte === SPACE || byte === TAB ? 1 : 0))
const IS_CR = Uint8Array.from({ length: 256 }, (_, byte) => (byte === CR ? 1 : 0))
const TAB_AS_SPACE = Uint8Array.from({ length: 256 }, (_, byte) => (byte === TAB ? SPACE : byte))

/**
 * Writes whole lines with their blanks collapsed and returns the length. There is no branch on what a byte is, because
 * words end too irregularly for the processor to guess: this takes half the time of the obvious loop. Each byte is
 * written; a blank after a blank does not advance, and a line end steps back over the blank before it.
 */
function collapseBlanks(lines: Buffer, target: Buffer): number {
  const length = lines.length
  let offset = 0
  let afterBlank = 0
  for (let at = 0; at < length; at++) {
    const byte = lines[at]!
    const blank = IS_BLANK[byte]!
    offset -= afterBlank & IS_CR[byte]!
    target[offset] = TAB_AS_SPACE[byte]!
    offset += 1 - (afterBlank & blank)
    afterBlank = blank
  }
  return offset
}

/** Names joined by colons; a fold after a colon is permitted there (RFC 6376 §3.5). */
function foldNames(names: string[]): string {
  let list = ''
  let column = 3
  for (const name of names) {
    if (column + name.length + 2 > 78) {
      list += '\r\n '
      column = 1
    }
    list += `${name}:`
    column += name.length + 1
  }
  return list.slice(0, -1)
}

function foldBase64(text: string): string {
  let folded = text.slice(0, 74)
  for (let at = 74; at < text.length; at += 74) folded += `\r\n ${text.slice(at, at + 74)}`
  return folded
}
