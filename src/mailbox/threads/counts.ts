// What filing adds to threads, and the counts of threads, kept by the transactions that change messages. They have locked the
// inbox, so that a count is at any time equal to a recount.
import type { Tx } from '../../platform/db/database.ts'
import { updateThreadCounts } from './queries.ts'
import { sendThreads, type FiledThread } from './join-queries.ts'

export interface ThreadDelta {
  threadId: string
  /** Messages outside trash. */
  messages: number
  /** Of those: unread. */
  unread: number
  /** Messages outside trash and spam. */
  visible: number
}

/** Several deltas of one thread add up. */
export function addToThreads(tx: Tx, deltas: readonly ThreadDelta[]): void {
  const sums = new Map<string, ThreadDelta>()
  for (const { threadId, messages, unread, visible } of deltas) {
    const sum = sums.get(threadId) ?? { threadId, messages: 0, unread: 0, visible: 0 }
    sums.set(threadId, {
      threadId,
      messages: sum.messages + messages,
      unread: sum.unread + unread,
      visible: sum.visible + visible,
    })
  }
  const changed = [...sums.values()].filter(sum => sum.messages !== 0 || sum.unread !== 0 || sum.visible !== 0)
  if (changed.length > 0) updateThreadCounts(tx, changed)
}

/** One for each mail: several of them may be of one thread. */
export function saveFiled(tx: Tx, filed: readonly FiledThread[]): void {
  const threads = new Map<string, FiledThread>()
  for (const one of filed) {
    const before = threads.get(one.id)
    threads.set(one.id, before ? together(before, one) : one)
  }
  sendThreads(tx, [...threads.values()])
}

const together = (before: FiledThread, one: FiledThread): FiledThread => ({
  ...before,
  participants: [...new Set([...before.participants, ...one.participants])],
  messages: before.messages + one.messages,
  unread: before.unread + one.unread,
  visible: before.visible + one.visible,
  lastMessageAt: one.lastMessageAt > before.lastMessageAt ? one.lastMessageAt : before.lastMessageAt,
  taintReasons: [...before.taintReasons, ...one.taintReasons],
})
