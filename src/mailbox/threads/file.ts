// What filing adds to threads: those that begin, and the counts, participants and taint of all of them.
import type { Tx } from '../../platform/db/database.ts'
import { sendThreads, type FiledThread } from './join-queries.ts'

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
