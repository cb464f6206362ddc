// Verification of the audit log: every entry, its place in the chain, and the signed heads inside and outside the
// database. It walks in ranges of ids, so memory stays constant however long the log is.
import { sameBytes } from '../../platform/secrets.ts'
import { canonicalEntry } from '../../platform/journal/canonical-entry.ts'
import type { World } from '../../platform/world.ts'
import { entryMac, GENESIS, hashEntry, HeadSigner, sealMac } from './chain.ts'
import { headsFile, readHeads } from './heads-file.ts'
import {
  findLastIds,
  listEntriesBetween,
  listHeadsAfter,
  listSealHashes,
  listSealsBetween,
  type Head,
  type Seal,
  type StoredEntry,
} from './queries.ts'
import { sealToHead } from './seal.ts'

export interface Verdict {
  intact: boolean
  entries: number
  broken_at_id?: number
  reason?: string
}

interface Break {
  id: number
  reason: string
}

const RANGE = 2_000

export async function verifyAudit(world: World): Promise<Verdict> {
  await sealToHead(world)
  const chain = await walkChain(world)
  const broken = chain.broken ?? (await checkHeads(world, chain.lastId))
  if (!broken) return { intact: true, entries: chain.lastId }
  world.log.error({ broken_at_id: broken.id, reason: broken.reason }, 'the audit log has been tampered with')
  return { intact: false, entries: broken.id - 1, broken_at_id: broken.id, reason: broken.reason }
}

async function walkChain(world: World): Promise<{ lastId: number; broken: Break | null }> {
  const last = await findLastIds(world.db)
  const lastId = Math.max(last.entry, last.seal)
  let prevHash = GENESIS
  for (let first = 1; first <= lastId; first += RANGE) {
    const range = { first, last: Math.min(first + RANGE - 1, lastId) }
    const [entries, seals] = await Promise.all([listEntriesBetween(world.db, range), listSealsBetween(world.db, range)])
    for (let id = range.first; id <= range.last; id++) {
      const reason = faultOf(world, { id, prevHash, entry: entries[id - first], seal: seals[id - first] })
      if (reason) return { lastId, broken: { id, reason } }
      prevHash = seals[id - first]!.hash
    }
  }
  return { lastId, broken: null }
}

interface Link {
  id: number
  prevHash: Buffer
  entry: StoredEntry | undefined
  seal: Seal | undefined
}

/** Ids have no gaps, so the n-th row of a range must carry the n-th id: anything else is a removal or an insertion. */
function faultOf({ secrets }: World, { id, prevHash, entry, seal }: Link): string | null {
  if (entry?.id !== id) return 'the entry is missing'
  if (seal?.entryId !== id) return 'the seal is missing'
  if (!sameBytes(entry.mac, entryMac(secrets, canonicalEntry(entry)))) return 'the entry was changed or forged'
  if (!sameBytes(seal.prevHash, prevHash)) return 'the chain does not continue from the entry before'
  if (!sameBytes(seal.hash, hashEntry(prevHash, entry))) return 'the entry does not have the hash it was sealed with'
  if (!sameBytes(seal.mac, sealMac(secrets, seal.hash))) return 'the seal was forged'
  return null
}

/** Against truncation and against a chain rebuilt as a whole. */
async function checkHeads(world: World, lastId: number): Promise<Break | null> {
  const signer = new HeadSigner(world.secrets)
  let broken: Break | null = null
  const check = async (heads: Head[]): Promise<void> => {
    const found = await listSealHashes(
      world.db,
      heads.map(head => head.entryId),
    )
    const hashes = new Map(found.map(seal => [seal.entryId, seal.hash]))
    for (const head of heads) {
      const hash = hashes.get(head.entryId)
      if (hash && sameBytes(hash, head.hash)) continue
      const id = hash ? head.entryId : Math.min(head.entryId, lastId + 1)
      const reason = hash ? 'the chain differs from a signed head' : 'entries after this point were removed'
      if (!broken || id < broken.id) broken = { id, reason }
    }
  }
  for await (const heads of batches(genuineHeads(world, signer), 1_000)) await check(heads)
  return broken
}

/** Heads with a valid signature, from the file and from the database. A line without one proves nothing either way. */
async function* genuineHeads(world: World, signer: HeadSigner): AsyncGenerator<Head> {
  for await (const head of readHeads(headsFile(world.config))) {
    if (signer.isGenuine(head)) yield head
    else world.log.warn({ entry_id: head.entryId }, 'an audit head in DATA_DIR has no valid signature')
  }
  for (let id = 0; ;) {
    const heads = await listHeadsAfter(world.db, { id, limit: 1_000 })
    yield* heads.filter(head => signer.isGenuine(head))
    const last = heads.at(-1)
    if (!last) return
    id = last.entryId
  }
}

async function* batches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length === size) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}
