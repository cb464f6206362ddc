// Filing what was composed: the mails of a batch in their threads, in `sent`, with texts, counts and events, and for those
// that wait the approval. The caller has locked the inboxes.
import { shownAddress } from '../../mail/address/mailbox-text.ts'
import { safeContentType } from '../../mail/mime/attachment.ts'
import { safeFileName } from '../../mail/mime/file-name.ts'
import type { Tx } from '../../platform/db/database.ts'
import { planOnce } from '../../platform/db/planner.ts'
import { newId } from '../../platform/ids.ts'
import { requestApprovals } from '../approvals/request.ts'
import type { AttachmentRow } from '../attachments/store.ts'
import { addToFolders, systemFoldersNamed } from '../folders/counts.ts'
import { ownerOf } from '../inboxes/lock.ts'
import { insertSentMessages, listThreadsOf, type SentRow } from '../messages/insert.ts'
import { insertWords } from '../search/insert-words.ts'
import { insertSources, storeNewTexts, type SourceText } from '../sources/store.ts'
import { saveFiled } from '../threads/counts.ts'
import {
  findThreads,
  joinThreads,
  type FoundThreads,
  type Joined,
  type Joining,
  type Seeking,
} from '../threads/join.ts'
import type { Composed } from './compose-schema.ts'
import type { Filed } from './keeper.ts'
import { listed, participantsOf, statusOf, type ComposedMail } from './mail.ts'
import { listStandingThreads } from './original-queries.ts'

/** Where mails may be filed, read while their inboxes are locked. */
export interface Destinations {
  /** By inbox. */
  sentFolders: ReadonlyMap<string, string>
  /** By original or thread. */
  continued: ReadonlyMap<string, string>
  threads: FoundThreads
}

interface Fileable {
  lockKey: string
  mail: ComposedMail
}

/** Issued together and behind the lock: the server takes them in their order, so nothing that is read changes any more. */
export async function findDestinations(tx: Tx, mails: readonly Fileable[]): Promise<Destinations> {
  planOnce(tx)
  const [sentFolders, continued, threads] = await Promise.all([
    systemFoldersNamed(tx.alongIndexes, [...new Set(mails.map(({ lockKey }) => lockKey))], 'sent'),
    threadsContinued(
      tx.alongIndexes,
      mails.map(({ mail }) => mail),
    ),
    findThreads(tx.alongIndexes, mails.map(seekingOf)),
  ])
  return { sentFolders, continued, threads }
}

export async function fileMails(tx: Tx, filed: readonly Filed[], { sentFolders, continued, threads }: Destinations) {
  const mails = filed.map(({ companion }) => companion.mail)
  insertSources(
    tx,
    mails.map(({ sourceId, submission }) => ({ id: sourceId, content: submission.source, headBytes: 0 })),
  )
  await storeNewTexts(tx, filed.map(textOf))
  const joinings = filed.map(each => joiningOf(each, continued))
  const joined = await joinThreads(tx, joinings, threads)
  saveFiled(
    tx,
    filed.map((each, at) => threadOf(each, joined[at]!)),
  )
  insertSentMessages(
    tx,
    filed.map((each, at) => rowOf(each, joined[at]!, sentFolders.get(each.inbox.id)!)),
  )
  insertWords(
    tx,
    filed.map(({ companion: { mail }, inbox }) => ({
      messageId: mail.id,
      inboxId: inbox.id,
      words: mail.inspected.words,
      mail,
    })),
  )
  addToFolders(
    tx,
    filed.map(({ inbox }) => ({ folderId: sentFolders.get(inbox.id)!, total: 1, unread: 0, blocked: 0 })),
  )
  const held = filed.filter(({ approvalId }) => approvalId !== null)
  if (held.length > 0) await requestApprovals(tx, held)
  filed.forEach((each, at) => {
    const { threadId } = joined[at]!
    each.companion.result = resultOf(each, threadId)
    record(tx, each, threadId)
  })
}

/** As it was sent. */
function typeOf(declared: string | null): Pick<AttachmentRow, 'contentType' | 'typeParams'> {
  const [contentType = '', ...params] = safeContentType(declared ?? '').split('; ')
  return { contentType, typeParams: params.length > 0 ? `; ${params.join('; ')}` : null }
}

const UNREAD_HTML = 'The HTML could not be read in the time that it may take, and is not shown.'

const textOf = ({ companion: { mail }, inbox }: Filed): SourceText => ({
  sourceId: mail.sourceId,
  accountId: inbox.account_id,
  authenticationResults: '',
  text: mail.inspected.text,
  html: mail.inspected.html,
  htmlText: null,
  extractedText: mail.inspected.ownText,
  notes: mail.written.html !== null && mail.inspected.html === null ? [UNREAD_HTML] : [],
  attachments: mail.files.map(({ filename, contentType, contentId, inline, content }, n) => ({
    id: newId(mail.at),
    n,
    filename: safeFileName(filename),
    ...typeOf(contentType),
    contentId: contentId === null ? null : contentId.replace(/^<(.*)>$/, '$1'),
    isInline: inline,
    content,
  })),
})

/** By original or thread. A reply stays in its thread, also where there is no id to refer to. Threads may have become one. */
async function threadsContinued(tx: Tx, mails: readonly ComposedMail[]): Promise<ReadonlyMap<string, string>> {
  const ids = mails.flatMap(({ original }) => original?.id ?? [])
  const threadIds = mails.flatMap(({ thread }) => thread?.id ?? [])
  const [ofOriginals, standing] = await Promise.all([
    ids.length > 0 ? listThreadsOf(tx, ids) : [],
    threadIds.length > 0 ? listStandingThreads(tx, threadIds) : [],
  ])
  return new Map([
    ...ofOriginals.map(row => [row.id, row.thread_id] as const),
    ...standing.map(row => [row.asked_id, row.id] as const),
  ])
}

const seekingOf = ({ lockKey, mail }: Fileable): Seeking => ({
  inboxId: lockKey,
  rfcId: mail.submission.rfcMessageId,
  references: referencesOf(mail),
  subject: mail.written.subject,
  at: mail.at,
})

const joiningOf = ({ companion, inbox }: Filed, continued: ReadonlyMap<string, string>): Joining => ({
  ...seekingOf(companion),
  participants: participantsOf(companion.mail, inbox.ownAddresses),
  continues: continued.get(companion.mail.original?.id ?? companion.mail.thread?.id ?? '') ?? null,
})

const referencesOf = ({ written: { headers } }: ComposedMail): string[] => headers['References']?.split(' ') ?? []

const threadOf = ({ companion: { mail }, inbox }: Filed, { threadId, isNew, subjectKey }: Joined) => ({
  id: threadId,
  isNew,
  ...ownerOf(inbox),
  subject: mail.written.subject,
  subjectKey,
  participants: participantsOf(mail, inbox.ownAddresses),
  messages: 1,
  unread: 0,
  visible: 1,
  lastMessageAt: mail.at,
  taintReasons: [],
})

function rowOf(
  { companion: { mail }, inbox, response, approvalId }: Filed,
  { threadId }: Joined,
  folderId: string,
): SentRow {
  const { submission, written, inspected } = mail
  return {
    id: mail.id,
    account_id: inbox.account_id,
    tenant_id: inbox.tenant_id,
    inbox_id: inbox.id,
    thread_id: threadId,
    folder_id: folderId,
    source_id: mail.sourceId,
    from_text: shownAddress(submission.fromHeader),
    from_address: submission.sender.toLowerCase(),
    to_list: listed(written.to),
    cc_list: listed(written.cc),
    bcc_list: listed(written.bcc),
    subject: written.subject,
    snippet: inspected.snippet,
    rfc_message_id: submission.rfcMessageId,
    in_reply_to: written.headers['In-Reply-To'] ?? null,
    reference_ids: referencesOf(mail),
    date: mail.at,
    received_at: mail.at,
    size: submission.source.length,
    has_attachments: mail.files.length > 0,
    shield: mail.shield,
    status: approvalId === null ? statusOf(response) : 'held',
    approval_id: approvalId,
    message_id: approvalId === null ? response.message_id : null,
  }
}

const resultOf = ({ companion: { mail }, inbox, response, approvalId }: Filed, threadId: string): Composed => ({
  id: mail.id,
  inbox_id: inbox.id,
  thread_id: threadId,
  status: approvalId === null ? statusOf(response) : 'held',
  message_id: approvalId === null ? response.message_id : null,
  approval_id: approvalId,
  scheduled_at: null,
  queued: response.queued,
  held: response.held,
  suppressed: response.suppressed,
  duplicate: false,
})

function record(tx: Tx, { companion: { mail, result }, inbox, approvalId }: Filed, threadId: string): void {
  const about = ownerOf(inbox)
  const { written, inspected } = mail
  if (approvalId === null) {
    const data = {
      message_id: mail.id,
      thread_id: threadId,
      submission_id: result!.message_id,
      to: listed(written.to),
      subject: written.subject,
      snippet: inspected.snippet,
      status: result!.status,
    }
    tx.record({ type: 'message.sent', ...about, data })
  }
  tx.record({ type: 'thread.updated', ...about, data: { thread_id: threadId } })
}
