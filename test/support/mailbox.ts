// Mail in an inbox for tests, put there without receiving it; and the check that kept counts equal a recount.
import assert from 'node:assert/strict'
import { findSystemFolders, addToFolders } from '../../src/mailbox/folders/counts.ts'
import type { SystemName } from '../../src/mailbox/folders/system.ts'
import { lockInboxes, type LockedInbox } from '../../src/mailbox/inboxes/lock.ts'
import { addToThreads } from '../../src/mailbox/threads/counts.ts'
import { system } from '../../src/platform/db/actor.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { firstIdAt, newId } from '../../src/platform/ids.ts'
import type { Box } from './box.ts'
import { unique } from './factories.ts'

interface FiledMessage {
  id: string
  threadId: string
  sourceId: string
  attachmentIds: string[]
}

interface Fields {
  folder?: SystemName
  threadId?: string
  sourceId?: string
  direction?: 'in' | 'out'
  read?: boolean
  blocked?: boolean
  tainted?: boolean
  from?: string
  to?: string[]
  subject?: string
  text?: string
  html?: string | null
  htmlText?: string
  source?: string
  authenticationResults?: string
  attachments?: { filename: string; content: string }[]
}

/** As the shield says it. */
export const BLOCKED = { verdict: 'blocked', reasons: [], blocked: true }

export async function aFiledMessage({ app, clock }: Box, inboxId: string, fields: Fields = {}): Promise<FiledMessage> {
  return app.world.db.transact(system('test'), async tx => {
    const [inbox]: LockedInbox[] = await lockInboxes(tx, [inboxId])
    assert.ok(inbox, 'the inbox exists')
    const folders = (await findSystemFolders(tx, [inboxId])).get(inboxId)!
    const { folder = 'inbox', direction = 'in', read = false, blocked = false, tainted = false } = fields
    const { from = 'Ann <ann@example.com>', subject = unique('subject'), text = 'Hello there.' } = fields
    const id = newId(clock.now())
    const threadId = fields.threadId ?? newId(clock.now())
    const sourceId = fields.sourceId ?? newId(clock.now())
    if (!fields.threadId) {
      await tx.run(sql`
        insert into threads (id, account_id, tenant_id, inbox_id, subject, subject_key, participants, is_tainted,
          taint_reasons, last_message_at, created_at)
        values (${threadId}, ${inbox.account_id}, ${inbox.tenant_id}, ${inboxId}, ${subject}, ${subject.toLowerCase()},
          ${['ann@example.com']}, ${tainted}, ${JSON.stringify(tainted ? [{ kind: 'instructions' }] : [])}, ${tx.now},
          ${tx.now})`)
    }
    const source = fields.source ?? `From: ${from}\r\nSubject: ${subject}\r\n\r\n${text}\r\n`
    const attachmentIds: string[] = []
    if (!fields.sourceId) {
      await tx.run(sql`insert into mail_sources (id, content, size)
        values (${sourceId}, ${Buffer.from(source)}, ${source.length})`)
      await tx.run(sql`insert into source_texts (source_id, authentication_results, text, html, html_text, extracted_text)
        values (${sourceId}, ${fields.authenticationResults ?? ''}, ${text}, ${fields.html ?? null},
          ${fields.htmlText ?? null}, ${text})`)
      const { attachments = [] } = fields
      for (const _ of attachments) attachmentIds.push(newId(clock.now()))
      await tx.run(sql`
        insert into source_attachments (id, source_id, account_id, n, filename, content_type, is_inline, size, content)
        select id, ${sourceId}, ${inbox.account_id}, n, filename, 'text/plain', false, length(content),
          convert_to(content, 'UTF8')
        from unnest(${attachmentIds}::uuid[], ${attachments.map(each => each.filename)}::text[],
          ${attachments.map(each => each.content)}::text[]) with ordinality as attachment (id, filename, content, n)`)
    }
    await tx.run(sql`
      insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction, is_read,
        from_text, from_address, to_list, cc_list, subject, snippet, rfc_message_id, date, received_at, size,
        has_attachments, shield, is_blocked, is_tainted)
      values (${id}, ${inbox.account_id}, ${inbox.tenant_id}, ${inboxId}, ${threadId}, ${folders[folder]}, ${sourceId},
        ${direction}, ${read}, ${from}, ${/[^<\s]+@[^>\s]+/.exec(from)?.[0].toLowerCase() ?? ''},
        ${fields.to ?? [inbox.address]}, '{}', ${subject}, ${text.slice(0, 200)}, ${`<${unique('id')}@example.com>`},
        ${tx.now}, ${tx.now}, ${source.length}, ${attachmentIds.length > 0},
        ${blocked ? BLOCKED : null}, ${blocked}, ${tainted})`)
    const unread = read ? 0 : 1
    const isInTrash = folder === 'trash'
    addToFolders(tx, [{ folderId: folders[folder], total: 1, unread, blocked: blocked ? 1 : 0 }])
    addToThreads(tx, [
      {
        threadId,
        messages: isInTrash ? 0 : 1,
        unread: isInTrash ? 0 : unread,
        visible: isInTrash || folder === 'spam' ? 0 : 1,
      },
    ])
    await tx.run(sql`update threads set last_message_at = greatest(last_message_at, ${tx.now}) where id = ${threadId}`)
    return { id, threadId, sourceId, attachmentIds }
  })
}

/** Read mail from Ann in the inbox, newer than all there is, in one thread and one statement. */
export async function manyFiledMessages(box: Box, inboxId: string, count: number): Promise<void> {
  const { id, threadId } = await aFiledMessage(box, inboxId, { read: true })
  await box.app.world.db.transact(system('test'), async tx => {
    // A random id behind the time of the next second: newer than what was filed before.
    await tx.run(sql`
      insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, direction, is_read, from_text,
        from_address, to_list, cc_list, subject, snippet, received_at, size)
      select overlay(gen_random_uuid()::text placing ${firstIdAt(new Date(tx.now.getTime() + 1000)).slice(0, 14)} from 1)::uuid,
        account_id, tenant_id, inbox_id, thread_id, folder_id, direction, is_read, from_text, from_address, to_list,
        cc_list, subject, snippet, received_at, size
      from inbox_messages, generate_series(2, ${count}) where id = ${id}`)
    const folders = (await findSystemFolders(tx, [inboxId])).get(inboxId)!
    addToFolders(tx, [{ folderId: folders.inbox, total: count - 1, unread: 0, blocked: 0 }])
    addToThreads(tx, [{ threadId, messages: count - 1, unread: 0, visible: count - 1 }])
  })
}

/** What is kept equals a recount, for every folder and thread of the database. */
export async function assertMailboxCounts(db: Db): Promise<void> {
  const folders = await db.many(sql`
    select f.id, f.name, f.total, f.unread, f.blocked, count(m.id)::int as counted,
      (count(m.id) filter (where not m.is_read))::int as counted_unread,
      (count(m.id) filter (where m.is_blocked))::int as counted_blocked
    from folders f left join inbox_messages m on m.folder_id = f.id
    group by f.id
    having (f.total, f.unread, f.blocked) is distinct from
      (count(m.id), count(m.id) filter (where not m.is_read), count(m.id) filter (where m.is_blocked))`)
  assert.deepEqual(folders, [], 'counts of folders')
  const threads = await db.many(sql`
    with recount as (
      select t.id, (count(m.id) filter (where f.name_key <> 'trash'))::int as messages,
        (count(m.id) filter (where f.name_key <> 'trash' and not m.is_read))::int as unread,
        (count(m.id) filter (where f.name_key not in ('trash', 'spam')))::int as visible
      from threads t left join inbox_messages m on m.thread_id = t.id left join folders f on f.id = m.folder_id
      where t.merged_into is null
      group by t.id
    )
    select t.id, t.message_count, t.unread_count, t.visible_count, r.messages, r.unread, r.visible
    from threads t join recount r on r.id = t.id
    where (t.message_count, t.unread_count, t.visible_count) is distinct from (r.messages, r.unread, r.visible)`)
  assert.deepEqual(threads, [], 'counts of threads')
}
