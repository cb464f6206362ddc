// Local parts that carry an id and prove that we wrote them: return paths to which bounces come back, and addresses for
// complaints. A report to an address we never handed out changes nothing, because its code does not fit.

import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

type Token = {
  /** What the address is for, one lower-case letter: `b` for bounces, `c` for complaints. It is under the code too. */
  kind: string
  /** A UUID as its 16 bytes. */
  id: Buffer
  /** A number of up to 32 bits beside the id, such as which recipient. */
  extra: number
}

const ID_BYTES = 16
const PAYLOAD_BYTES = ID_BYTES + 4 // 32 characters of base32, without padding
const CODE_BYTES = 10 // 80 bits: a forger would need 2^79 messages; 16 characters of base32

/**
 * `b-<32 characters>-<16 characters>`: 51 of the 64 that a local part may have (RFC 5321 §4.5.3.1.1). Base32 in lower
 * case, because some receivers fold the case of the return path, and none of its letters needs quoting.
 */
export function encodeToken({ kind, id, extra }: Token, key: KeyObject): string {
  if (!/^[a-z]$/.test(kind) || id.length !== ID_BYTES) throw new RangeError('a token has one letter and 16 bytes of id')
  const payload = Buffer.alloc(PAYLOAD_BYTES)
  id.copy(payload)
  payload.writeUInt32BE(extra, ID_BYTES)
  return `${kind}-${toBase32(payload)}-${toBase32(codeOf(kind, payload, key))}`
}

const TOKEN = /(?<![a-z0-9])[a-z]-[a-z2-7]{32}-[a-z2-7]{16}(?![a-z0-9])/gi
const TOKENS_MAX = 20 // an original carries the token in its return path and in a mark or two

/** What has the form of a token in these texts, in their order. */
export const tokensIn = (texts: readonly (string | null)[]): string[] =>
  texts.flatMap(text => [...(text ?? '').matchAll(TOKEN)].map(([token]) => token)).slice(0, TOKENS_MAX)

/** What the local part carries, in whatever case it came back; null when it is not one of ours. */
export function decodeToken(local: string, key: KeyObject): Token | null {
  const match = /^([a-z])-([a-z2-7]{32})-([a-z2-7]{16})$/.exec(local.toLowerCase())
  if (!match) return null
  const kind = match[1]!
  const payload = fromBase32(match[2]!)
  if (!timingSafeEqual(fromBase32(match[3]!), codeOf(kind, payload, key))) return null
  return { kind, id: payload.subarray(0, ID_BYTES), extra: payload.readUInt32BE(ID_BYTES) }
}

function codeOf(kind: string, payload: Buffer, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(kind).update(payload).digest().subarray(0, CODE_BYTES)
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567' // RFC 4648 §6

/** Five bytes are eight characters; both lengths here are multiples of five, so there is never a remainder. */
function toBase32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    for (; bits >= 5; bits -= 5) text += ALPHABET[(value >> (bits - 5)) & 31]!
    value &= 31
  }
  return text
}

function fromBase32(text: string): Buffer {
  const bytes = Buffer.alloc((text.length * 5) / 8)
  let offset = 0
  let bits = 0
  let value = 0
  for (const char of text) {
    value = ((value << 5) | ALPHABET.indexOf(char)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes[offset++] = value >> bits
  }
  return bytes
}
