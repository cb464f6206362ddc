// The one act that changes messages of an inbox: move, read flag, delete. It keeps the counts of folders and threads and
// records what the streams tell. Its caller has locked the inbox, so that what was read here stays as it is.
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import { addToFolders, systemFolderOf, type FolderDelta } from '../folders/counts.ts'
import type { Folder } from '../folders/find.ts'
import { ownerOf, type InboxOwner } from '../inboxes/lock.ts'
import { queueSourceRemovals } from '../sources/removals.ts'
import { keepRemovedTaints } from '../tainted/removed.ts'
import { addToThreads, type ThreadDelta } from '../threads/counts.ts'
import { removeEmptyThreads } from '../threads/remove.ts'
import {
  deleteMessageRows,
  listMessageIdsInFolder,
  listMessageStates,
  updateMessageStates,
  deleteMessagesOfInbox,
  type MessageState,
} from './change-queries.ts'

export { listMessageIdsInFolder as listIdsInFolder }
/** Of the messages of a thread, in batches. */
export { updateMessagesUntainted as clearTaints } from './change-queries.ts'

export type Change =
  | { kind: 'move'; folder: Pick<Folder, 'id' | 'name' | 'name_key'> }
  | { kind: 'read'; isRead: boolean }
  /** Into the trash, and what is there already for good. `mayRemove`: the account is not under legal hold. */
  | { kind: 'delete'; isPermanent: boolean; mayRemove: boolean }

interface Changed {
  /** Ids of messages that the inbox has. */
  found: string[]
  /** Of those: now in another folder. */
  moved: string[]
  /** Of those: gone for good. */
  deleted: string[]
  /** Of those: read or unread now, and not before. */
  marked: string[]
}

/** Ids that the inbox does not have are not in the answer. What is as it should be already is left alone. */
export async function changeMessages(
  tx: Tx,
  inbox: InboxOwner,
  ids: readonly string[],
  change: Change,
): Promise<Changed> {
  const states = await listMessageStates(tx, inbox.id, [...new Set(ids)])
  const found = states.map(({ id }) => id)
  switch (change.kind) {
    case 'read': {
      const changed = states.filter(state => state.is_read !== change.isRead)
      apply(
        tx,
        inbox,
        changed.map(state => [state, { ...state, is_read: change.isRead }]),
      )
      return { found, moved: [], deleted: [], marked: changed.map(({ id }) => id) }
    }
    case 'move': {
      const moved = move(tx, inbox, states, change.folder)
      return { found, moved, deleted: [], marked: [] }
    }
    case 'delete': {
      const isGone = (state: MessageState) => change.isPermanent || isInTrash(state)
      const doomed = states.filter(isGone)
      if (doomed.length > 0 && !change.mayRemove) throw onLegalHold()
      const trash = await systemFolderOf(tx, inbox.id, 'trash')
      const folder = { id: trash, name: 'trash', name_key: 'trash' }
      const moved = move(
        tx,
        inbox,
        states.filter(state => !isGone(state)),
        folder,
      )
      await remove(tx, inbox, doomed)
      return { found, moved, deleted: doomed.map(({ id }) => id), marked: [] }
    }
  }
}

/** Removes messages for good, also those in a discarded folder. The account is not under legal hold. */
export async function removeMessages(tx: Tx, inbox: InboxOwner, ids: readonly string[]): Promise<void> {
  await remove(tx, inbox, await listMessageStates(tx, inbox.id, ids, { withDiscarded: true }))
}

/** Tells of messages that changed in something else than their folder or read flag. */
export async function recordChanged(tx: Tx, inbox: InboxOwner, ids: readonly string[]): Promise<void> {
  recordUpdated(tx, inbox, await listMessageStates(tx, inbox.id, ids))
}

export const onLegalHold = () =>
  refuse('conflict', 'The account is under legal hold: nothing is deleted for good until it is lifted.')

function move(
  tx: Tx,
  inbox: InboxOwner,
  states: readonly MessageState[],
  { id, name, name_key }: Pick<Folder, 'id' | 'name' | 'name_key'>,
): string[] {
  const moved = states.filter(state => state.folder_id !== id)
  apply(
    tx,
    inbox,
    moved.map(state => [state, { ...state, folder_id: id, folder: name, folder_key: name_key }]),
  )
  return moved.map(state => state.id)
}

function apply(tx: Tx, inbox: InboxOwner, changes: readonly (readonly [before: MessageState, after: MessageState])[]) {
  if (changes.length === 0) return
  const after = changes.map(([, state]) => state)
  updateMessageStates(tx, after)
  const before = changes.map(([state]) => state)
  count(tx, { gone: before, come: after })
  recordUpdated(tx, inbox, after)
}

async function remove(tx: Tx, inbox: InboxOwner, states: readonly MessageState[]): Promise<void> {
  if (states.length === 0) return
  const tainted = states.filter(({ is_tainted }) => is_tainted).map(({ id }) => id)
  if (tainted.length > 0) await keepRemovedTaints(tx, { inboxId: inbox.id, messageIds: tainted })
  await deleteMessageRows(
    tx,
    states.map(({ id }) => id),
  )
  count(tx, { gone: states, come: [] })
  await removeEmptyThreads(tx, [...new Set(states.map(state => state.thread_id))])
  const sourceIds = states.flatMap(({ source_id }) => (source_id === null ? [] : [source_id]))
  await queueSourceRemovals(tx, { accountId: inbox.account_id, sourceIds })
  recordDeleted(tx, inbox, states)
}

function count(tx: Tx, { gone, come }: { gone: readonly MessageState[]; come: readonly MessageState[] }): void {
  addToFolders(tx, [...gone.map(each => folderDelta(each, -1)), ...come.map(each => folderDelta(each, 1))])
  addToThreads(tx, [...gone.map(each => threadDelta(each, -1)), ...come.map(each => threadDelta(each, 1))])
}

const isInTrash = ({ folder_key }: MessageState): boolean => folder_key === 'trash'

const folderDelta = ({ folder_id, is_read, is_blocked }: MessageState, sign: 1 | -1): FolderDelta => ({
  folderId: folder_id,
  total: sign,
  unread: is_read ? 0 : sign,
  blocked: is_blocked ? sign : 0,
})

/** Custom folders cannot have the name of a system folder, so the name tells. */
const threadDelta = (state: MessageState, sign: 1 | -1): ThreadDelta => {
  const isCounted = !isInTrash(state)
  return {
    threadId: state.thread_id,
    messages: isCounted ? sign : 0,
    unread: isCounted && !state.is_read ? sign : 0,
    visible: isCounted && state.folder_key !== 'spam' ? sign : 0,
  }
}

export function recordUpdated(tx: Tx, inbox: InboxOwner, states: readonly MessageState[]): void {
  for (const { id, thread_id, folder, is_read, labels } of states) {
    const data = { message_id: id, thread_id, folder, read: is_read, labels }
    tx.record({ type: 'message.updated', ...ownerOf(inbox), data })
  }
}

function recordDeleted(tx: Tx, inbox: InboxOwner, states: readonly MessageState[]): void {
  for (const { id, thread_id } of states) {
    tx.record({ type: 'message.deleted', ...ownerOf(inbox), data: { message_id: id, thread_id } })
  }
}

/** Of a deleted inbox: one batch; answers how many are gone. */
export async function removeMessagesOfInbox(
  tx: Tx,
  { accountId, inboxId, limit }: { accountId: string; inboxId: string; limit: number },
): Promise<number> {
  const removed = await deleteMessagesOfInbox(tx, inboxId, limit)
  const sourceIds = removed.flatMap(({ source_id }) => (source_id === null ? [] : [source_id]))
  await queueSourceRemovals(tx, { accountId, sourceIds })
  return removed.length
}
