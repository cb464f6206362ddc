// What the shield finds in a mail after it was filed: the text of attachments is read by a worker later. The verdict on every
// message of that mail is made again; where the policy enforces, the message goes to spam.
import type { Tx } from '../../platform/db/database.ts'
import { addToFolders, systemFolderOf } from '../folders/counts.ts'
import { lockInboxes, ownerOf, type LockedInbox } from '../inboxes/lock.ts'
import { changeMessages, recordChanged } from '../messages/change.ts'
import {
  listInboxesOfSource,
  listReceivedOfSource,
  updateMessageShield,
  type ReceivedMessage,
} from '../messages/insert.ts'
import type { Finding } from '../shield/finding.ts'
import { judge, type Shield } from '../shield/judge.ts'
import { saveFiled } from '../threads/counts.ts'

/** A mail with a thousand orders in it is as suspicious as one with twenty. */
const REASONS_MAX = 20

export async function addFindings(tx: Tx, { sourceId, findings }: { sourceId: string; findings: readonly Finding[] }) {
  const inboxes = await lockInboxes(tx, await listInboxesOfSource(tx, sourceId))
  const byId = new Map(inboxes.map(inbox => [inbox.id, inbox]))
  for (const message of await listReceivedOfSource(tx, sourceId, [...byId.keys()])) {
    await addTo(tx, byId.get(message.inbox_id)!, message, findings)
  }
}

async function addTo(tx: Tx, inbox: LockedInbox, message: ReceivedMessage, findings: readonly Finding[]) {
  const from = message.from_address === '' ? null : { name: '', address: message.from_address }
  const judged = judge({ findings, auth: message.auth, from, senders: [], inbox, correspondents: [] })
  // Attachments are inspected again for each copy that is filed later. What a person has decided about a message since its
  // findings were told stays as it is.
  const isNew = (reason: Shield['reasons'][number]): boolean =>
    reason.where.startsWith('attachment:') && !message.shield.reasons.some(known => isSame(known, reason))
  const reasons = judged.reasons.filter(isNew)
  // The shield is off, or the sender is one that the owner trusts, or the message has these reasons.
  if (reasons.length === 0) return
  const isBlocked = message.is_blocked || judged.blocked
  const verdict = isBlocked ? 'blocked' : 'suspicious'
  const shield = {
    verdict,
    reasons: [...message.shield.reasons, ...reasons].slice(0, REASONS_MAX),
    blocked: isBlocked,
  } as const
  await updateMessageShield(tx, { id: message.id, shield, isBlocked, isTainted: judged.tainted })
  const isMoved = judged.blocked && !message.is_blocked && (await block(tx, inbox, message, reasons))
  // A move tells of the message already.
  if (!isMoved) await recordChanged(tx, inbox, [message.id])
  const taintReasons = judged.taintReasons.filter(isNew)
  if (taintReasons.length > 0) taint(tx, inbox, message, taintReasons)
}

const isSame = (one: Told, other: Told): boolean =>
  one.kind === other.kind && one.where === other.where && one.detail === other.detail

type Told = ReceivedMessage['shield']['reasons'][number]

/** The thread with nothing more than the reasons. */
function taint(tx: Tx, inbox: LockedInbox, message: ReceivedMessage, reasons: Shield['reasons']): void {
  saveFiled(tx, [
    {
      id: message.thread_id,
      isNew: false,
      ...ownerOf(inbox),
      subject: '',
      subjectKey: '',
      participants: [],
      messages: 0,
      unread: 0,
      visible: 0,
      lastMessageAt: new Date(0),
      taintReasons: reasons.map(reason => ({ ...reason, message_id: message.id })),
    },
  ])
  tx.record({
    type: 'thread.updated',
    ...ownerOf(inbox),
    data: { thread_id: message.thread_id, tainted: true },
  })
}

/** True: it was moved to spam. What is in trash stays there. */
async function block(
  tx: Tx,
  inbox: LockedInbox,
  message: ReceivedMessage,
  reasons: readonly { kind: string; where: string }[],
): Promise<boolean> {
  addToFolders(tx, [{ folderId: message.folder_id, total: 0, unread: 0, blocked: 1 }])
  const isMoved = message.folder_key !== 'trash'
  if (isMoved) {
    const spam = await systemFolderOf(tx, inbox.id, 'spam')
    await changeMessages(tx, inbox, [message.id], {
      kind: 'move',
      folder: { id: spam, name: 'spam', name_key: 'spam' },
    })
  }
  tx.record({
    type: 'message.blocked',
    ...ownerOf(inbox),
    data: {
      message_id: message.id,
      thread_id: message.thread_id,
      reasons: reasons.map(({ kind, where }) => ({ kind, where })),
    },
  })
  return isMoved
}
