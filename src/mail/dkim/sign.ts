// Signs messages by RFC 6376: rsa-sha256 with relaxed canonicalisation of header and body. Our own, because it runs for
// every message: the body is hashed once, mostly without being copied, and RSA runs on the thread pool.

import { createHash, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { fieldSpans, splitSource } from '../mime/headers.ts'
import { relaxedBody, relaxedField, smallRelaxedBody } from './canonical.ts'
import { generateRsaKey } from './rsa-key.ts'

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
  const data = Buffer.from(signed.canonical + relaxedField(field), 'latin1')
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
      canonical += `${relaxedField(field)}\r\n`
    }
    if (OVERSIGNED_FIELDS.includes(name)) names.push(name)
  }
  return { names, canonical }
}

/** SHA-256 of the relaxed body (RFC 6376 §3.4.4). */
function bodyHash(source: Buffer, bodyStart: number): string {
  const small = smallRelaxedBody(source, bodyStart)
  if (small) return hash('sha256', small, 'base64')
  const hasher = createHash('sha256')
  for (const piece of relaxedBody(source, bodyStart)) hasher.update(piece)
  return hasher.digest('base64')
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
