// Deleting tainted mail does not free what repeats it: hashes of its passages stay for some days. The transaction that
// deletes the mail notes it, a worker hashes its texts, and its source waits for that.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { ThreadFailure, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { World } from '../../platform/world.ts'
import { textsIn } from './find.ts'
import {
  deleteRemovedBefore,
  deleteSurplusRemoved,
  insertRemovedTaints,
  listTextsOfRemoved,
  listUnhashedAnywhere,
  updateRemovedPassages,
  type UnhashedMail,
} from './removed-queries.ts'

/** As long as an approval waits: what an agent has read it writes much sooner. */
const KEPT_MS = 7 * 24 * 3_600_000
const BATCH_MAX = 20
const EXPIRED_MAX = 1_000

const HASHING: ThreadWork = {
  module: new URL('./passages-thread.ts', import.meta.url),
  queueMax: 64,
  timeoutMs: 10_000,
}

/** Before these messages are deleted. */
export async function keepRemovedTaints(
  tx: Tx,
  { inboxId, messageIds }: { inboxId: string; messageIds: readonly string[] },
): Promise<void> {
  await insertRemovedTaints(tx, messageIds)
  await deleteSurplusRemoved(tx, inboxId)
}

/** A person has looked at the thread. */
export { deleteRemovedOfThread as forgetRemovedTaints } from './removed-queries.ts'

/** One batch; answers how many mails were hashed or forgotten. Two processes that hash the same write the same. */
export async function hashRemoved(world: World): Promise<number> {
  const unhashed = await listUnhashedAnywhere(world.db, BATCH_MAX)
  for (const { message_id, inbox_id, account_id } of unhashed) {
    const passages = await passagesOf(world, { message_id, account_id })
    await world.db.transact(BY, async tx => {
      await updateRemovedPassages(tx, message_id, passages)
      await deleteSurplusRemoved(tx, inbox_id)
    })
  }
  // Their sources wait for this.
  if (unhashed.length > 0) world.wakeups.hint('removals')
  const before = new Date(world.clock.now().getTime() - KEPT_MS)
  return unhashed.length + (await world.db.transact(BY, tx => deleteRemovedBefore(tx, before, EXPIRED_MAX)))
}

const BY = system('tainted mail')

async function passagesOf({ db, threads, log }: World, mail: Omit<UnhashedMail, 'inbox_id'>): Promise<Buffer> {
  const texts = (await listTextsOfRemoved(db, mail.message_id)).flatMap(textsIn)
  try {
    return Buffer.from(await threads.run<string[], Uint8Array>(HASHING, { input: texts, owner: mail.account_id }))
  } catch (failure) {
    if (!(failure instanceof ThreadFailure) || failure.reason === 'busy' || failure.reason === 'closed') throw failure
    log.error({ err: failure, message_id: mail.message_id }, 'deleted mail could not be hashed')
    return Buffer.alloc(0)
  }
}
