// Verification of the audit log: every entry, its position in the chain, and the signed heads inside and outside the
// database. It reads ranges of ids, so memory stays constant however long the log is.
import { sameBytes } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { BEFORE_FIRST, faultOfEntry, GENESIS, hashEntry, HeadSigner, sealMac, type Before } from './chain.ts'
import { bytesOfHeads, headsFile, readHeads } from './heads-file.ts'
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
  outside_heads: 'checked' | 'unavailable'
  outside_head_id?: number
}

interface Break {
  id: number
  reason: string
}

const RANGE = 2_000

/**
 * Up to the newest entry at the start of the call: others go on writing. What the sealing worker has not reached is
 * checked by the MACs that it was written with.
 */
export async function verifyAudit(world: World): Promise<Verdict> {
  // Before we seal: a head that this very call makes of what it finds says nothing about what was there earlier.
  const outsideBytes = await bytesOfHeads(headsFile(world.config))
  await sealToHead(world)
  const chain = await verifyChain(world)
  const heads = await checkHeads(world, { lastId: chain.lastId, outsideBytes })
  const broken = chain.broken ?? heads.broken
  const outside: Pick<Verdict, 'outside_heads' | 'outside_head_id'> =
    heads.outsideId === null
      ? { outside_heads: 'unavailable' }
      : { outside_heads: 'checked', outside_head_id: heads.outsideId }
  if (!broken) return { intact: true, entries: chain.lastId, ...outside }
  world.log.error({ broken_at_id: broken.id, reason: broken.reason }, 'the audit log has been tampered with')
  return { intact: false, entries: broken.id - 1, broken_at_id: broken.id, reason: broken.reason, ...outside }
}

async function verifyChain(world: World): Promise<{ lastId: number; broken: Break | null }> {
  const last = await findLastIds(world.db)
  const lastId = Math.max(last.entry, last.seal)
  let before = BEFORE_FIRST
  let prevHash = GENESIS
  for (let first = 1; first <= lastId; first += RANGE) {
    const range = { first, last: Math.min(first + RANGE - 1, lastId) }
    const [entries, seals] = await Promise.all([listEntriesBetween(world.db, range), listSealsBetween(world.db, range)])
    for (let id = range.first; id <= range.last; id++) {
      // Ids have no gaps, so the n-th row of a range carries the n-th id: anything else is a removal or an insertion.
      const entry = entries[id - first]
      const seal = seals[id - first]
      const reason =
        faultOfPosition(world, before, entry) ?? (id <= last.seal ? faultOfSeal(world, prevHash, entry!, seal) : null)
      if (reason) return { lastId, broken: { id, reason } }
      before = entry!
      if (seal) prevHash = seal.hash
    }
  }
  return { lastId, broken: null }
}

const faultOfPosition = ({ secrets }: World, before: Before, entry: StoredEntry | undefined): string | null =>
  entry ? faultOfEntry(secrets, before, entry) : 'the entry is missing'

function faultOfSeal({ secrets }: World, prevHash: Buffer, entry: StoredEntry, seal: Seal | undefined): string | null {
  if (seal?.entryId !== entry.id) return 'the seal is missing'
  if (!sameBytes(seal.prevHash, prevHash)) return 'the chain does not continue from the entry before'
  if (!sameBytes(seal.hash, hashEntry(prevHash, entry))) return 'the entry does not have the hash it was sealed with'
  if (!sameBytes(seal.mac, sealMac(secrets, seal.hash))) return 'the seal was forged'
  return null
}

interface HeadsChecked {
  broken: Break | null
  /** The newest entry that a head outside the database vouches for; null when there is no such head. */
  outsideId: number | null
}

/** Against truncation and against a chain rebuilt as a whole. */
async function checkHeads(world: World, { lastId, outsideBytes }: { lastId: number; outsideBytes: number }) {
  const signer = new HeadSigner(world.secrets)
  const checked: HeadsChecked = { broken: null, outsideId: null }
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
      if (!checked.broken || id < checked.broken.id) checked.broken = { id, reason }
    }
  }
  for await (const heads of batches(headsOutside(world, signer, outsideBytes), 1_000)) {
    for (const { entryId } of heads) checked.outsideId = Math.max(checked.outsideId ?? 0, entryId)
    await check(heads)
  }
  for await (const heads of batches(headsInside(world, signer), 1_000)) await check(heads)
  return checked
}

/** Heads in the file with a valid signature. A line without one proves nothing either way. */
async function* headsOutside(world: World, signer: HeadSigner, bytes: number): AsyncGenerator<Head> {
  for await (const head of readHeads(headsFile(world.config), bytes)) {
    if (signer.isGenuine(head)) yield head
    else world.log.warn({ entry_id: head.entryId }, 'an audit head in DATA_DIR has no valid signature')
  }
}

async function* headsInside(world: World, signer: HeadSigner): AsyncGenerator<Head> {
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
