// Filing a message: its read flag, labels, folder, what was extracted from it, and its end. Each takes the lock of the inbox,
// changes, and leaves one audit entry when something changed.
import { lockUnlessOnHold } from '../../identity/accounts/legal-hold.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Named } from '../../platform/principal.ts'
import { notFound, refuse, type Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireDestination } from '../folders/find.ts'
import { auditIn, lockInboxes, type LockedInbox } from '../inboxes/lock.ts'
import { changeMessages, recordUpdated } from './change.ts'
import { listMessageStates, updateExtractedData, updateMessageLabels, type MessageState } from './change-queries.ts'
import { readLabels } from './labels.ts'
import type { Message } from './message-schema.ts'
import { requireMessage } from './queries.ts'
import { readMessage } from './read.ts'

export const markRead = (world: World, by: Actor, { isRead, ...named }: Named & { isRead: boolean }) =>
  world.db.transact(by, async tx => {
    const { inbox, state } = await lockMessage(tx, named)
    const { marked } = await changeMessages(tx, inbox, [state.id], { kind: 'read', isRead })
    if (marked.length > 0) audit(tx, inbox, state, { before: { read: state.is_read }, after: { read: isRead } })
    return readMessage(tx, named.reach, state.id)
  })

export function setLabels(
  world: World,
  by: Actor,
  { labels: given, ...named }: Named & { labels: readonly string[] },
): Promise<Message> {
  const labels = readLabels(given)
  return world.db.transact(by, async tx => {
    const { inbox, state } = await lockMessage(tx, named)
    if (JSON.stringify(labels) !== JSON.stringify(state.labels)) {
      await updateMessageLabels(tx, { id: state.id, inboxId: inbox.id, labels })
      recordUpdated(tx, inbox, [{ ...state, labels }])
      audit(tx, inbox, state, { before: { labels: state.labels }, after: { labels } })
    }
    return readMessage(tx, named.reach, state.id)
  })
}

export const moveMessage = (world: World, by: Actor, { to, ...named }: Named & { to: string }): Promise<Message> =>
  world.db.transact(by, async tx => {
    const { inbox, state } = await lockMessage(tx, named)
    const folder = await requireDestination(tx, { inboxId: inbox.id, name: to, field: 'body.folder' })
    const { moved } = await changeMessages(tx, inbox, [state.id], { kind: 'move', folder })
    if (moved.length > 0) audit(tx, inbox, state, { before: { folder: state.folder }, after: { folder: folder.name } })
    return readMessage(tx, named.reach, state.id)
  })

export async function deleteMessage(
  world: World,
  by: Actor,
  { isPermanent, ...named }: Named & { isPermanent: boolean },
): Promise<{ id: string; trashed: boolean; deleted: boolean }> {
  const result = await world.db.transact(by, async tx => {
    await requireMessage(tx, named.reach, named.id)
    const mayRemove = await lockUnlessOnHold(tx, named.reach.accountId)
    const { inbox, state } = await lockMessage(tx, named)
    const change = { kind: 'delete', isPermanent, mayRemove } as const
    const { deleted } = await changeMessages(tx, inbox, [state.id], change)
    const isDeleted = deleted.length > 0
    audit(tx, inbox, state, { before: { folder: state.folder }, after: isDeleted ? null : { folder: 'trash' } })
    return { id: state.id, trashed: !isDeleted, deleted: isDeleted }
  })
  if (result.deleted) world.wakeups.hint('removals')
  return result
}

/**
 * What a model has made of the mail. It may be long and it is about people: the audit entry says how long it is, and the
 * stream that there is something new.
 */
export const saveExtractedData = (world: World, by: Actor, { data, ...named }: Named & { data: unknown }) =>
  world.db.transact(by, async tx => {
    const { inbox, state } = await lockMessage(tx, named)
    // Meanwhile the mail may have been found to be bad.
    if (state.is_blocked || state.folder_key === 'spam') throw notForModels()
    const stored = await updateExtractedData(tx, state.id, JSON.stringify(data))
    if (!stored) return
    recordUpdated(tx, inbox, [state])
    audit(tx, inbox, state, {
      before: { extracted_data_bytes: stored.bytes_before },
      after: { extracted_data_bytes: stored.bytes },
    })
  })

/** Content of such mail never reaches a model. */
export const notForModels = (): Refusal =>
  refuse('forbidden', 'The message is in spam or was blocked by the shield: nothing is extracted from it.')

/** The message as it is under the lock of its inbox. Found before it is locked: a stranger must not make an owner wait. */
async function lockMessage(tx: Tx, { reach, id }: Named): Promise<{ inbox: LockedInbox; state: MessageState }> {
  const { inbox_id } = await requireMessage(tx, reach, id)
  const [inbox] = await lockInboxes(tx, [inbox_id])
  const [state] = inbox ? await listMessageStates(tx, inbox.id, [id]) : []
  if (!inbox || !state) throw notFound('message')
  return { inbox, state }
}

const audit = (
  tx: Tx,
  inbox: LockedInbox,
  { id }: MessageState,
  { before, after }: { before: object; after: object | null },
): void =>
  auditIn(tx, inbox, { target: { type: 'inbox_message', id }, before: { inbox_id: inbox.id, ...before }, after })
