// The arithmetic of the chain: how an entry is hashed, and how heads are signed.
import { createHash, createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { canonicalContent, canonicalEntry } from '../../platform/journal/canonical-entry.ts'
import { MAC_VERSION } from '../../platform/journal/append.ts'
import { sameBytes, type Secrets } from '../../platform/secrets.ts'
import type { Head, Seal, StoredEntry } from './queries.ts'

export const GENESIS: Buffer = Buffer.alloc(32)

/** The id is part of what is hashed: two entries cannot be swapped. */
export const hashEntry = (prevHash: Buffer, entry: StoredEntry): Buffer =>
  createHash('sha256').update(prevHash).update(`${entry.id}\n`).update(canonicalEntry(entry)).digest()

export function sealEntry(secrets: Secrets, prevHash: Buffer, entry: StoredEntry): Seal {
  const hash = hashEntry(prevHash, entry)
  return { entryId: entry.id, prevHash, hash, mac: sealMac(secrets, hash) }
}

export const sealMac = (secrets: Secrets, hash: Buffer): Buffer =>
  secrets.mac('audit-mac', Buffer.concat([Buffer.from('seal\n'), hash]))

/** Over what an entry says. The database binds it to the entry's position when it is appended; see platform/journal. */
export const contentMac = (secrets: Secrets, content: string): Buffer => secrets.mac('audit-mac', `content\n${content}`)

/** What an entry is compared with: the one before it in the log, or nothing before the first. */
export type Before = Pick<StoredEntry, 'id' | 'macVersion' | 'createdAtMicros'>

export const BEFORE_FIRST: Before = { id: 0, macVersion: 1, createdAtMicros: '0' }

/** Why the entry cannot have been appended by us behind the one before it; null when it was. */
export function faultOfEntry(secrets: Secrets, before: Before, entry: StoredEntry): string | null {
  if (entry.id !== before.id + 1) return 'the entry is missing'
  // Without this an entry of the old form, which does not know its position, could be copied to the end.
  if (entry.macVersion < before.macVersion) return 'the entry was changed or forged'
  const mac = entryMac(secrets, entry)
  if (!mac || !sameBytes(entry.mac, mac)) return 'the entry was changed or forged'
  // Entries of the old form have the time at which their transaction began, in no order.
  const isBack = entry.macVersion > 1 && BigInt(entry.createdAtMicros) < BigInt(before.createdAtMicros)
  return isBack ? 'the time goes back from the entry before' : null
}

/** Null for a form that there is not. */
export function entryMac(secrets: Secrets, entry: StoredEntry): Buffer | null {
  if (entry.macVersion === 1) return secrets.mac('audit-mac', `entry\n${canonicalEntry(entry)}`)
  if (entry.macVersion !== MAC_VERSION) return null
  const position = Buffer.alloc(24)
  position.writeBigInt64BE(BigInt(entry.id), 0)
  position.writeBigInt64BE(BigInt(entry.id - 1), 8)
  position.writeBigInt64BE(BigInt(entry.createdAtMicros), 16)
  return createHash('sha256')
    .update(contentMac(secrets, canonicalContent(entry)))
    .update(position)
    .digest()
}

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
