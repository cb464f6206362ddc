// The arithmetic of the chain: how an entry is hashed, and how heads are signed.
import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { canonicalEntry } from '../../platform/journal/canonical-entry.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { Head, Seal, StoredEntry } from './queries.ts'

export const GENESIS: Buffer = Buffer.alloc(32)

/** The id is part of what is hashed: two entries cannot change places. */
export const hashEntry = (prevHash: Buffer, entry: StoredEntry): Buffer =>
  createHash('sha256').update(prevHash).update(`${entry.id}\n`).update(canonicalEntry(entry)).digest()

export function sealEntry(secrets: Secrets, prevHash: Buffer, entry: StoredEntry): Seal {
  const hash = hashEntry(prevHash, entry)
  return { entryId: entry.id, prevHash, hash, mac: sealMac(secrets, hash) }
}

export const sealMac = (secrets: Secrets, hash: Buffer): Buffer =>
  secrets.mac('audit-mac', Buffer.concat([Buffer.from('seal\n'), hash]))

export const entryMac = (secrets: Secrets, canonical: string): Buffer => secrets.mac('audit-mac', `entry\n${canonical}`)

export class HeadSigner {
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject

  constructor(secrets: Secrets) {
    // RFC 8410: an Ed25519 private key in PKCS #8 is this prefix and the 32 byte seed.
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secrets.derive('audit-head')])
    this.#privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    this.#publicKey = createPublicKey(this.#privateKey)
  }

  sign(entryId: number, hash: Buffer, signedAt: Date): Head {
    return { entryId, hash, signedAt, signature: sign(null, messageOf({ entryId, hash, signedAt }), this.#privateKey) }
  }

  isGenuine(head: Head): boolean {
    return verify(null, messageOf(head), this.#publicKey, head.signature)
  }
}

const messageOf = ({ entryId, hash, signedAt }: Omit<Head, 'signature'>): Buffer =>
  Buffer.from(`sluice audit head\n${entryId}\n${hash.toString('hex')}\n${signedAt.toISOString()}`)
