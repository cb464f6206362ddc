// Everything that depends on SECRET_KEY: keys derived per purpose (HKDF), sealing bound to a row, signed cursors,
// and the minting of API key secrets.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'

/** Each use has its own key, so that a token of one kind can never be passed off as another. */
type Purpose =
  | 'seal'
  | 'cursor'
  | 'audit-mac'
  | 'audit-head'
  | 'unsubscribe'
  | 'unsubscribe-link'
  | 'approval-link'
  | 'return-path'
  | 'oauth-state'
  | 'installation'

export class Secrets {
  readonly #root: Buffer
  readonly #derived = new Map<Purpose, Buffer>()
  readonly #keys = new Map<Purpose, KeyObject>()

  constructor(rootKey: string) {
    this.#root = Buffer.from(rootKey, 'utf8')
  }

  derive(purpose: Purpose): Buffer {
    let key = this.#derived.get(purpose)
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', this.#root, 'sluice', purpose, 32))
      this.#derived.set(purpose, key)
    }
    return key
  }

  /** Parsed once: handing the bytes over at every call costs more than the digest. */
  keyOf(purpose: Purpose): KeyObject {
    let key = this.#keys.get(purpose)
    if (!key) {
      key = createSecretKey(this.derive(purpose))
      this.#keys.set(purpose, key)
    }
    return key
  }

  mac(purpose: Purpose, message: string | Buffer): Buffer {
    return createHmac('sha256', this.keyOf(purpose)).update(message).digest()
  }

  /** AES-256-GCM. `row` names the place the value lives in: a sealed value copied to another row does not open. */
  seal(row: string, clear: string): string {
    const key = this.derive('seal')
    return `v1.${keyId(key)}.${encrypt(key, row, Buffer.from(clear)).toString('base64url')}`
  }

  open(row: string, sealed: string): string {
    const key = this.derive('seal')
    const [version, id, body] = sealed.split('.')
    if (version !== 'v1' || !body) throw new Error(`a sealed value of ${row} has an unknown form`)
    if (id !== keyId(key)) throw new Error(`a sealed value of ${row} was made with another SECRET_KEY`)
    return decrypt(key, row, Buffer.from(body, 'base64url')).toString('utf8')
  }

  /** For links that carry all that they mean, and show none of it where they are logged. */
  sealToken(purpose: Purpose, clear: Buffer): string {
    return encrypt(this.derive(purpose), purpose, clear).toString('base64url')
  }

  /** Null when it is not one of ours. */
  openToken(purpose: Purpose, token: string): Buffer | null {
    const sealed = Buffer.from(token, 'base64url')
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
    try {
      return decrypt(this.derive(purpose), purpose, sealed)
    } catch {
      return null
    }
  }

  /** An opaque cursor. `list` binds it to one list, so that a cursor of another list is refused. */
  signCursor(list: string, position: unknown): string {
    const body = Buffer.from(JSON.stringify(position)).toString('base64url')
    return `${body}.${this.#cursorMac(list, body)}`
  }

  readCursor(list: string, cursor: string): unknown {
    const [body, mac, rest] = cursor.split('.')
    if (!body || !mac || rest !== undefined || !sameSecret(mac, this.#cursorMac(list, body))) return null
    return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
  }

  #cursorMac(list: string, body: string): string {
    return this.mac('cursor', `${list}\n${body}`).subarray(0, 15).toString('base64url')
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: the nonce, the text, the tag. What `context` names is under the tag too. */
function encrypt(key: Buffer, context: string, clear: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(clear), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, context: string, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
}

/** Compares without telling by its duration where the texts differ. */
export function sameSecret(left: string, right: string): boolean {
  return timingSafeEqual(sha256(left), sha256(right))
}

/** In one call: a Hash object per request is garbage that the collector sees late. */
export const sha256 = (text: string | Buffer): Buffer => hash('sha256', text, 'buffer')

const KEY_FORM = /^svc_([a-z2-7]{12})_([A-Za-z0-9-]{43})$/

/** `svc_<prefix>_<secret>`: the prefix is public and indexed, the secret has 256 bits and is kept as its SHA-256. */
export function mintApiKey(): { prefix: string; bearer: string; secretHash: Buffer } {
  const prefix = base32(randomBytes(8)).slice(0, 12)
  const secret = mintSecret()
  return { prefix, bearer: `svc_${prefix}_${secret}`, secretHash: sha256(secret) }
}

export function parseApiKey(bearer: string): { prefix: string; secretHash: Buffer } | null {
  const form = KEY_FORM.exec(bearer)
  return form ? { prefix: form[1]!, secretHash: sha256(form[2]!) } : null
}

/** 32 random bytes as base64url, drawn again while it holds a `_`, so that a key splits at its underscores. */
export function mintSecret(): string {
  for (;;) {
    const secret = randomBytes(32).toString('base64url')
    if (!secret.includes('_')) return secret
  }
}

function base32(bytes: Buffer): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return bits
    .match(/.{5}/g)!
    .map(five => alphabet[parseInt(five, 2)])
    .join('')
}

const keyId = (key: Buffer): string => sha256(key).subarray(0, 4).toString('hex')

/** Equal bytes, without telling by the duration where they differ. */
export const sameBytes = (left: Buffer, right: Buffer): boolean =>
  left.length === right.length && timingSafeEqual(left, right)
