// Filing: mail that was read becomes one message in each inbox that it is for, in its thread and folder, with counts and
// events, in one transaction with the end of the arrival. So a mail that was acknowledged is filed exactly once. Mail of a
// mailbox that an inbox mirrors is filed by the same code, where the provider has it.
import type { Authentication } from '../../mail/authentication/authenticate.ts'
import { mailboxText } from '../../mail/address/mailbox-text.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newIdAt } from '../../platform/ids.ts'
import type { Leased } from '../../platform/work/leased-work.ts'
import { reopenTexts, shareQueues } from '../attachments/reopen.ts'
import { addToFolders, findSystemFolders, type SystemFolders } from '../folders/counts.ts'
import { isOwnAddress } from '../inboxes/addresses.ts'
import { lockInboxes, ownerOf, type LockedInbox } from '../inboxes/lock.ts'
import { insertWords } from '../search/insert-words.ts'
import { insertMessages, type MessageRow } from '../messages/insert.ts'
import { queueSourceRemovals } from '../sources/removals.ts'
import { storeTexts, type SourceText } from '../sources/store.ts'
import type { Finding } from '../shield/finding.ts'
import { findCorrespondents } from '../shield/correspondents.ts'
import { judge, type Shield } from '../shield/judge.ts'
import { joinThreads, type Joined } from '../threads/join.ts'
import { PARTICIPANTS_MAX } from '../threads/subject-key.ts'
import { saveFiled } from '../threads/counts.ts'
import { deleteArrivals, type Arrival } from './queries.ts'
import type { ReadMail } from './read-mail.ts'

/** What is known of a mail before it is filed. */
export interface ReadArrival {
  auth: Authentication
  /** What was read in it, or the little that its first lines say where it could not be. */
  mail: Omit<ReadMail, 'kind' | 'hiddenText' | 'unshownText' | 'htmlText' | 'attachments' | 'hasAttachments'>
  /** Null where they are stored already, which large ones are. */
  texts: SourceText | null
  /** Besides what the mail shows in its text. */
  hasAttachments: boolean
  hasFiles: boolean
  findings: readonly Finding[]
  /** As the search index takes them. */
  words: Uint8Array
}

/** Where a mail is filed, and how. */
export interface FilingTarget {
  /** Null: where the shield says, which is the inbox or spam. */
  folder: { id: string; key: string } | null
  isRead: boolean
  direction: 'in' | 'out'
  /** Of what was sent. */
  status: string | null
  /** To the streams. Mail that was there before anybody listened is not told of. */
  told: 'mail' | 'thread' | 'nothing'
}

const ARRIVED: FilingTarget = { folder: null, isRead: false, direction: 'in', status: null, told: 'mail' }

interface Filing {
  id: string
  arrival: Pick<Arrival, 'source_id' | 'received_at' | 'size'> & Partial<Pick<Arrival, 'mail_from'>>
  read: ReadArrival
  inbox: LockedInbox
  shield: Shield
  target: FilingTarget
}

/** Answers the arrivals whose lease was still ours: those are filed. */
export async function fileArrivals(
  tx: Tx,
  items: readonly { arrival: Leased<Arrival>; read: ReadArrival }[],
): Promise<string[]> {
  const deleted = await deleteArrivals(
    tx,
    items.map(({ arrival }) => arrival),
  )
  // By lease: a mail whose lease lapsed may be here twice, under the old one and under the one that was taken since.
  const ours = new Set(deleted.map(({ id, lease_token }) => `${id} ${lease_token}`))
  const owned = items.filter(({ arrival }) => ours.has(`${arrival.id} ${arrival.leaseToken}`))
  if (owned.length === 0) return []
  const ids = [...new Set(owned.flatMap(({ arrival }) => arrival.inbox_ids))]
  const [locked, correspondents] = await Promise.all([lockInboxes(tx, ids), findCorrespondents(tx, ids)])
  const inboxes = new Map(locked.map(inbox => [inbox.id, inbox]))
  const filings = owned
    .toSorted((a, b) => a.arrival.received_at.getTime() - b.arrival.received_at.getTime())
    .flatMap(({ arrival, read }) =>
      arrival.inbox_ids.flatMap(inboxId => {
        const inbox = inboxes.get(inboxId)
        return inbox ? [filingOf({ arrival, read, inbox, target: ARRIVED }, correspondents.get(inboxId) ?? [])] : []
      }),
    )
  const filed = new Set(filings.map(({ arrival }) => arrival.source_id))
  // Every inbox that it was for was deleted meanwhile.
  for (const { arrival } of owned) {
    if (filed.has(arrival.source_id)) continue
    await queueSourceRemovals(tx, { accountId: arrival.account_id, sourceIds: [arrival.source_id] })
  }
  if (filings.length > 0) await fileMails(tx, filings)
  return deleted.map(({ id }) => id)
}

export function filingOf(
  { arrival, read, inbox, target }: Omit<Filing, 'id' | 'shield'>,
  correspondents: readonly string[],
): Filing {
  const { auth, findings, mail } = read
  const from = mail.from.length === 1 ? mail.from[0]! : null
  const shield =
    target.direction === 'out'
      ? SENT
      : judge({ findings, auth, from, senders: sendersOf(read, arrival), inbox, correspondents })
  return { id: newIdAt(arrival.received_at), arrival, read, inbox, shield, target }
}

/** The envelope tells of its sender even where the mail hides behind another name. */
const sendersOf = ({ mail }: ReadArrival, { mail_from }: Filing['arrival']): string[] => [
  ...mail.from.map(({ address }) => address),
  ...(mail.sender ? [mail.sender.address] : []),
  ...(mail_from === undefined || mail_from === '' ? [] : [mail_from]),
]

/** What the owner has written is not held against anybody. */
const SENT: Shield = { verdict: 'clean', reasons: [], blocked: false, tainted: false, taintReasons: [] }

/** In the order of their times. The caller has locked the inboxes. */
export async function fileMails(tx: Tx, filings: readonly Filing[]): Promise<void> {
  await storeTexts(tx, textsOf(filings))
  const folders = await findSystemFolders(tx, [...new Set(filings.map(({ inbox }) => inbox.id))])
  const joined = await joinThreads(tx, filings.map(joiningOf))
  saveFiled(
    tx,
    filings.map((filing, at) => threadOf(filing, joined[at]!, folders)),
  )
  insertMessages(
    tx,
    filings.map((filing, at) => rowOf(filing, joined[at]!, folderOf(filing, folders).id)),
  )
  insertWords(
    tx,
    filings.map(({ id, inbox, read }) => ({ messageId: id, inboxId: inbox.id, words: read.words, mail: read })),
  )
  addToFolders(
    tx,
    filings.map(filing => ({
      folderId: folderOf(filing, folders).id,
      total: 1,
      unread: filing.target.isRead ? 0 : 1,
      blocked: filing.shield.blocked ? 1 : 0,
    })),
  )
  // Texts that were read for another account stand already; the words of these messages are still without them.
  const withFiles = filings.filter(({ read }) => read.hasFiles)
  await reopenTexts(tx, [...new Set(withFiles.map(({ arrival }) => arrival.source_id))])
  await shareQueues(
    tx,
    withFiles.map(({ arrival, inbox }) => ({ sourceId: arrival.source_id, accountId: inbox.account_id })),
  )
  filings.forEach((filing, at) => recordFiled(tx, filing, joined[at]!.threadId))
}

/** One source may have come to several inboxes. */
function textsOf(filings: readonly Filing[]): SourceText[] {
  const bySource = new Map<string, SourceText>()
  for (const { read } of filings) if (read.texts) bySource.set(read.texts.sourceId, read.texts)
  return [...bySource.values()]
}

type FoldersByInbox = ReadonlyMap<string, SystemFolders>

/** What is blocked goes to spam, unless it is in the trash already. */
function folderOf({ inbox, shield, target }: Filing, folders: FoldersByInbox): { id: string; key: string } {
  const { folder } = target
  if (folder && (!shield.blocked || folder.key === 'trash')) return folder
  const key = shield.blocked ? 'spam' : 'inbox'
  return { id: folders.get(inbox.id)![key], key }
}

const joiningOf = ({ read: { mail }, inbox, arrival, shield }: Filing) => ({
  inboxId: inbox.id,
  rfcId: mail.messageId,
  references: [...mail.references, ...(mail.inReplyTo === null ? [] : [mail.inReplyTo])],
  subject: mail.subject,
  participants: participantsOf(mail, inbox),
  at: arrival.received_at,
  isBlocked: shield.blocked,
})

function participantsOf({ from, to, cc }: ReadArrival['mail'], inbox: LockedInbox): string[] {
  const named = [...from, ...to, ...cc].map(({ address }) => address.toLowerCase())
  const isOther = (address: string): boolean => address !== '' && !isOwnAddress(address, inbox.ownAddresses)
  return [...new Set(named)].filter(isOther).slice(0, PARTICIPANTS_MAX)
}

function threadOf(filing: Filing, { threadId, isNew, subjectKey }: Joined, folders: FoldersByInbox) {
  const { id, arrival, inbox, read, shield, target } = filing
  const { key } = folderOf(filing, folders)
  const isCounted = key !== 'trash'
  return {
    id: threadId,
    isNew,
    ...ownerOf(inbox),
    subject: read.mail.subject,
    subjectKey,
    participants: participantsOf(read.mail, inbox),
    messages: isCounted ? 1 : 0,
    unread: isCounted && !target.isRead ? 1 : 0,
    visible: isCounted && key !== 'spam' ? 1 : 0,
    lastMessageAt: arrival.received_at,
    taintReasons: shield.taintReasons.map(reason => ({ ...reason, message_id: id })),
  }
}

function rowOf(
  { id, arrival, read, inbox, shield, target }: Filing,
  { threadId }: Joined,
  folderId: string,
): MessageRow {
  const { mail, auth } = read
  const isSent = target.direction === 'out'
  return {
    id,
    account_id: inbox.account_id,
    tenant_id: inbox.tenant_id,
    inbox_id: inbox.id,
    thread_id: threadId,
    folder_id: folderId,
    source_id: arrival.source_id,
    direction: target.direction,
    is_read: target.isRead,
    from_text: mail.from.map(mailboxText).join(', '),
    from_address: mail.from[0]?.address.toLowerCase() ?? '',
    to_list: mail.to.map(mailboxText),
    cc_list: mail.cc.map(mailboxText),
    reply_to: mail.replyTo.length === 0 ? null : mail.replyTo.map(mailboxText).join(', '),
    subject: mail.subject,
    snippet: mail.snippet,
    rfc_message_id: mail.messageId,
    in_reply_to: mail.inReplyTo,
    reference_ids: mail.references,
    date: mail.date,
    received_at: arrival.received_at,
    size: arrival.size,
    has_attachments: read.hasAttachments,
    auth: isSent ? null : auth,
    shield: isSent ? null : { verdict: shield.verdict, reasons: shield.reasons, blocked: shield.blocked },
    status: target.status,
    is_blocked: shield.blocked,
    is_tainted: shield.tainted,
  }
}

function recordFiled(tx: Tx, filing: Filing, threadId: string): void {
  const { inbox, target } = filing
  if (target.told === 'nothing') return
  if (target.told === 'mail') recordMail(tx, filing, threadId)
  tx.record({ type: 'thread.updated', ...ownerOf(inbox), data: { thread_id: threadId } })
}

/** Of blocked mail the stream says who and when, and nothing that its sender has written into it. */
function recordMail(tx: Tx, { id, read, shield, arrival, inbox }: Filing, threadId: string): void {
  const { mail, hasAttachments } = read
  const about = ownerOf(inbox)
  const named = { message_id: id, thread_id: threadId, from: mail.from.map(mailboxText).join(', ') }
  const received_at = arrival.received_at.toISOString()
  if (shield.blocked) {
    const reasons = shield.reasons.map(({ kind, where }) => ({ kind, where }))
    tx.record({ type: 'message.blocked', ...about, data: { ...named, received_at, reasons } })
    return
  }
  const { subject, snippet } = mail
  const data = { ...named, subject, snippet, received_at, has_attachments: hasAttachments, tainted: shield.tainted }
  tx.record({ type: 'message.received', ...about, data })
}
