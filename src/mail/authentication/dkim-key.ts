// The key record of a signature (RFC 6376 §3.6.1, RFC 8463), read once per text: senders with much mail have few keys.
import { createPublicKey, type KeyObject } from 'node:crypto'
import { readTags } from './dkim-signature.ts'

type DkimKey =
  | { kind: 'key'; key: KeyObject; type: 'rsa' | 'ed25519'; isForSubdomains: boolean }
  /** Revoked, malformed, or not meant for this. */
  | { kind: 'invalid' }
  /** Too short to prove anything. */
  | { kind: 'weak' }

const KEYS_MAX = 4_096
/** The longest good key has 1,500. What a record of 64 KiB says is read each time. */
const REMEMBERED_CHARS_MAX = 4_096
const RSA_BITS_MIN = 1_024 // RFC 8301 §3.2
// A verification with a longer key, or with an exponent as long as the modulus, would take as long as many mails.
const RSA_BITS_MAX = 8_192
const EXPONENT_MAX = 0xffff_ffffn

const keys = new Map<string, DkimKey>()

export function readKey(record: string): DkimKey {
  const known = keys.get(record)
  if (known) return known
  const key = parseKey(record)
  if (record.length > REMEMBERED_CHARS_MAX) return key
  if (keys.size >= KEYS_MAX) keys.delete(keys.keys().next().value!)
  keys.set(record, key)
  return key
}

function parseKey(record: string): DkimKey {
  const { tags, isWellFormed } = readTags(record.replaceAll(/\s+/g, ''))
  const type = (tags.get('k') ?? 'rsa').toLowerCase()
  const material = tags.get('p') ?? ''
  if (!isWellFormed || !BASE64.test(material)) return { kind: 'invalid' }
  if (tags.has('v') && (tags.get('v') !== 'DKIM1' || tags.keys().next().value !== 'v')) return { kind: 'invalid' }
  if (!lists(tags.get('s'), 'email') || !listsHash(tags.get('h'))) return { kind: 'invalid' }
  const bytes = Buffer.from(material, 'base64')
  if (type === 'ed25519') return ed25519Key(bytes, tags)
  return type === 'rsa' ? rsaKey(bytes, tags) : { kind: 'invalid' }
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const entriesOf = (list: string): string[] => list.toLowerCase().split(':')
const lists = (services: string | undefined, service: string): boolean =>
  services === undefined || entriesOf(services).some(entry => entry === service || entry === '*')
const listsHash = (hashes: string | undefined): boolean => hashes === undefined || entriesOf(hashes).includes('sha256')
/** `t=s`: the signing identity may not be in a subdomain. */
const isForSubdomains = (tags: Map<string, string>): boolean => !entriesOf(tags.get('t') ?? '').includes('s')

function ed25519Key(bytes: Buffer, tags: Map<string, string>): DkimKey {
  if (bytes.length !== 32) return { kind: 'invalid' }
  const key = publicKey(Buffer.concat([ED25519_HEAD, bytes]), 'spki')
  return key ? { kind: 'key', key, type: 'ed25519', isForSubdomains: isForSubdomains(tags) } : { kind: 'invalid' }
}

const ED25519_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

function rsaKey(bytes: Buffer, tags: Map<string, string>): DkimKey {
  // A bare RSAPublicKey begins with a number, the SubjectPublicKeyInfo that nearly everybody publishes with a sequence.
  const first = bytes[(bytes[1] ?? 0) < 0x80 ? 2 : 2 + (bytes[1]! & 0x7f)]
  const key = publicKey(bytes, first === 0x02 ? 'pkcs1' : 'spki')
  const { modulusLength = 0, publicExponent = 0n } = key?.asymmetricKeyDetails ?? {}
  if (!key || key.asymmetricKeyType !== 'rsa') return { kind: 'invalid' }
  if (modulusLength > RSA_BITS_MAX || publicExponent > EXPONENT_MAX) return { kind: 'invalid' }
  if (modulusLength < RSA_BITS_MIN) return { kind: 'weak' }
  return { kind: 'key', key, type: 'rsa', isForSubdomains: isForSubdomains(tags) }
}

function publicKey(key: Buffer, type: 'spki' | 'pkcs1'): KeyObject | null {
  try {
    return createPublicKey({ key, format: 'der', type })
  } catch {
    return null
  }
}
