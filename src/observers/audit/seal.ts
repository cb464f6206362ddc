// Sealing: right behind the writers, entries are chained by hash in batches. Each batch ends with a signed head,
// which is also written to the log and to a file outside the database.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { BEFORE_FIRST, faultOfEntry, GENESIS, HeadSigner, sealEntry, type Before } from './chain.ts'
import { appendHead, headsFile, toLine } from './heads-file.ts'
import {
  findEntryAtMost,
  findLastSeal,
  insertHead,
  insertSeals,
  listEntriesAfter,
  lockSealing,
  tryLockSealing,
  type Head,
  type Seal,
} from './queries.ts'

const BATCH_MAX = 5_000

/** Seals the next batch unless another process is at it; answers how many entries were sealed. */
export async function sealNext(world: World): Promise<number> {
  return seal(world, async tx => ((await tryLockSealing(tx)) ? sealBatch(world, tx) : null))
}

/** Seals everything that is committed when the call begins, waiting for other sealers. */
export async function sealToHead(world: World): Promise<void> {
  for (;;) {
    const sealed = await seal(world, async tx => {
      await lockSealing(tx)
      return sealBatch(world, tx)
    })
    if (sealed < BATCH_MAX) return
  }
}

async function seal(world: World, recipe: (tx: Tx) => Promise<{ seals: Seal[]; head: Head } | null>): Promise<number> {
  // Seals that a crash takes away are made again, the same to the byte.
  const sealed = await world.db.transactLightly(system('audit-seal'), recipe)
  if (!sealed) return 0
  await publish(world, sealed.head)
  return sealed.seals.length
}

async function sealBatch(world: World, tx: Tx): Promise<{ seals: Seal[]; head: Head } | null> {
  const last = await findLastSeal(tx)
  const entries = await listEntriesAfter(tx, { id: last?.entryId ?? 0, limit: BATCH_MAX })
  if (entries.length === 0) return null
  const seals: Seal[] = []
  let before: Before = (last && (await findEntryAtMost(tx, last.entryId))) ?? BEFORE_FIRST
  let prevHash = last?.hash ?? GENESIS
  for (const entry of entries) {
    // A seal would make a forged entry look like ours. The chain goes on without it, and verify names it. A gap is
    // verify's to find: what stands behind it is still ours.
    const fault = faultOfEntry(world.secrets, { ...before, id: entry.id - 1 }, entry)
    if (fault) {
      world.log.error({ entry_id: entry.id, reason: fault }, 'an audit entry was not sealed')
      continue
    }
    const seal = sealEntry(world.secrets, prevHash, entry)
    seals.push(seal)
    prevHash = seal.hash
    before = entry
  }
  if (seals.length === 0) return null
  const head = new HeadSigner(world.secrets).sign(seals.at(-1)!.entryId, prevHash, tx.now)
  await insertSeals(tx, seals)
  await insertHead(tx, head)
  return { seals, head }
}

/** After the commit. When the file cannot be written the chain goes on: the next head covers this one. */
async function publish(world: World, head: Head): Promise<void> {
  world.log.info({ audit_head: toLine(head) }, 'audit head')
  await appendHead(headsFile(world.config), head).catch(err =>
    world.log.error({ err }, 'the audit head could not be written to DATA_DIR'),
  )
}
