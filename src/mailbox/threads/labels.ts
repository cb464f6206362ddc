// Labelling a thread, and clearing its taint. Both leave one audit entry when something changed.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Named } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { auditIn, lockInboxes, ownerOf } from '../inboxes/lock.ts'
import { clearTaints } from '../messages/change.ts'
import { readLabels } from '../messages/labels.ts'
import { forgetRemovedTaints } from '../tainted/removed.ts'
import type { Thread } from './contract.ts'
import { requireThread } from './find.ts'
import { presentThread } from './present.ts'
import { updateThreadLabels, updateThreadUntainted, type StoredThread } from './queries.ts'

export function setThreadLabels(
  world: World,
  by: Actor,
  { labels: given, ...named }: Named & { labels: readonly string[] },
): Promise<Thread> {
  const labels = readLabels(given)
  return world.db.transact(by, async tx => {
    const thread = await lockThread(tx, named)
    if (JSON.stringify(labels) === JSON.stringify(thread.labels)) return presentThread(thread)
    await updateThreadLabels(tx, thread.id, labels)
    record(tx, { ...thread, labels }, { before: { labels: thread.labels }, after: { labels } })
    return presentThread({ ...thread, labels })
  })
}

/** Flags of messages cleared in one transaction. */
const BATCH_MAX = 2_000

/** A million messages. Others may come in all the while: the call ends in any case. */
const BATCHES_MAX = 500

/**
 * A thread may hold any number of messages: their flags are cleared in batches, and that of the thread with the last. Each
 * leaves an entry of its own: a call that is cut short has told what it cleared.
 */
export async function clearTaint(world: World, by: Actor, named: Named): Promise<Thread> {
  for (let batches = 0; batches < BATCHES_MAX; batches++) {
    const { thread, isDone } = await world.db.transact(by, tx => clearBatch(tx, named))
    if (isDone) return presentThread(thread)
  }
  throw refuse('conflict', 'The thread still holds tainted messages. Clear it again to go on.')
}

async function clearBatch(tx: Tx, named: Named): Promise<{ thread: StoredThread; isDone: boolean }> {
  const thread = await lockThread(tx, named)
  const count = await clearTaints(tx, thread.id, BATCH_MAX)
  const isDone = count < BATCH_MAX
  if (count === 0 && !thread.is_tainted) return { thread, isDone }
  const after = isDone ? { ...thread, is_tainted: false, taint_reasons: [] } : thread
  if (isDone && thread.is_tainted) await updateThreadUntainted(tx, thread.id)
  if (isDone) await forgetRemovedTaints(tx, { threadId: thread.id, inboxId: thread.inbox_id })
  record(tx, after, {
    before: { tainted: thread.is_tainted, taint_reasons: thread.taint_reasons },
    after: { tainted: after.is_tainted, messages_cleared: count },
  })
  return { thread: after, isDone }
}

/** The thread as it is under the lock of its inbox. Found before it is locked: a stranger must not make an owner wait. */
async function lockThread(tx: Tx, { reach, id }: Named): Promise<StoredThread> {
  const found = await requireThread(tx, reach, id)
  const [inbox] = await lockInboxes(tx, [found.inbox_id])
  if (!inbox) throw notFound('thread')
  return requireThread(tx, reach, id)
}

function record(tx: Tx, thread: StoredThread, { before, after }: { before: object; after: object }): void {
  const inbox = { ...thread, id: thread.inbox_id }
  const data = { thread_id: thread.id, labels: thread.labels, tainted: thread.is_tainted }
  tx.record({ type: 'thread.updated', ...ownerOf(inbox), data })
  auditIn(tx, inbox, { target: { type: 'thread', id: thread.id }, before, after })
}
