// An inbox with mail in it, put there as filing would.
import { createHash } from 'node:crypto'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { newId } from '../../platform/ids.ts'
import type { TestAccount } from '../../../test/support/factories.ts'
import { insertWords } from './insert-words.ts'
import { wordsOf } from './words.ts'

interface TestMail {
  subject?: string
  from?: string
  to?: string[]
  text?: string
  folder?: string
  labels?: string[]
  receivedAt?: Date
  attachments?: { filename: string; contentType?: string; content: Buffer; text?: string }[]
  /** Filed from the source of another message. */
  sourceId?: string
}

export interface FiledMail {
  id: string
  sourceId: string
  attachmentIds: string[]
}

export interface TestMailbox {
  inboxId: string
  file(mail: TestMail): Promise<FiledMail>
}

const SYSTEM_FOLDERS = ['inbox', 'sent', 'archive', 'spam', 'trash']

export async function aMailbox(
  { box, id: accountId, tenant }: TestAccount,
  tenantId = tenant.id,
): Promise<TestMailbox> {
  const { db } = box.app.world
  const now = box.clock.now()
  const inboxId = newId(now)
  const threadId = newId(now)
  const folders = new Map<string, string>()
  const addFolder = async (name: string): Promise<string> => {
    const folderId = newId(now)
    folders.set(name, folderId)
    await db.transact(system('test'), tx =>
      tx.run(sql`insert into folders (id, inbox_id, name, name_key, is_system, created_at)
        values (${folderId}, ${inboxId}, ${name}, ${name.toLowerCase()}, ${SYSTEM_FOLDERS.includes(name)}, ${now})`),
    )
    return folderId
  }
  await db.transact(system('test'), async tx => {
    await tx.run(sql`insert into inboxes (id, account_id, tenant_id, address, local_part, created_at)
      values (${inboxId}, ${accountId}, ${tenantId}, ${`${inboxId}@sluice.test`}, ${inboxId}, ${now})`)
    await tx.run(sql`insert into threads (id, account_id, tenant_id, inbox_id, subject, subject_key, last_message_at, created_at)
      values (${threadId}, ${accountId}, ${tenantId}, ${inboxId}, '', '', ${now}, ${now})`)
  })
  for (const name of SYSTEM_FOLDERS) await addFolder(name)
  const file = async (mail: TestMail): Promise<FiledMail> => {
    const { subject = '', from = 'Ann Lee <ann@example.com>', to = ['bob@example.com'], text = '', labels = [] } = mail
    const { folder = 'inbox', receivedAt = box.clock.now(), attachments = [] } = mail
    const folderId = folders.get(folder) ?? (await addFolder(folder))
    const [id, sourceId] = [newId(receivedAt), mail.sourceId ?? newId(receivedAt)]
    const attachmentIds = attachments.map(() => newId(receivedAt))
    await db.transact(system('test'), async tx => {
      if (mail.sourceId === undefined) {
        await tx.run(sql`insert into mail_sources (id, content, size) values (${sourceId}, '', 0)`)
        await tx.run(
          sql`insert into source_texts (source_id, text, extracted_text) values (${sourceId}, ${text}, ${text})`,
        )
      }
      for (const [
        n,
        { filename, contentType = 'application/octet-stream', content, text: known },
      ] of attachments.entries())
        await tx.run(sql`insert into source_attachments (id, source_id, account_id, n, filename, content_type, is_inline, size,
            content, due_at, text, text_state)
          values (${attachmentIds[n]}, ${sourceId}, ${accountId}, ${n}, ${filename}, ${contentType}, false, ${content.length},
            ${content}, ${tx.now}, ${known ?? null}, ${known === undefined ? 'pending' : 'done'})`)
      await tx.run(sql`insert into inbox_messages (id, account_id, tenant_id, inbox_id, thread_id, folder_id, source_id, direction,
          is_read, labels, from_text, from_address, to_list, cc_list, subject, snippet, received_at, size, has_attachments)
        values (${id}, ${accountId}, ${tenantId}, ${inboxId}, ${threadId}, ${folderId}, ${sourceId}, 'in', false, ${labels},
          ${from}, '', ${to}, '{}', ${subject}, ${text.slice(0, 200)}, ${receivedAt}, 0, ${attachments.length > 0})`)
      for (const label of labels)
        await tx.run(sql`insert into message_labels (inbox_id, label, message_id) values (${inboxId}, ${label}, ${id})`)
      const words = wordsOf({
        subject,
        text,
        htmlText: '',
        addresses: { from: [from], to },
        attachmentNames: attachments.map(({ filename }) => filename),
        attachmentTexts: attachments.flatMap(({ text: known }) => known ?? []),
      })
      insertWords(tx, [{ messageId: id, inboxId, words, mail }])
      await tx.run(sql`update folders set total = total + 1 where id = ${folderId}`)
    })
    box.app.world.wakeups.hint('attachments')
    return { id, sourceId, attachmentIds }
  }
  return { inboxId, file }
}

/** Bytes that are the same at every run and look like nothing. */
export const someBytes = (count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(count / 32) }, (_, n) => createHash('sha256').update(String(n)).digest()),
  ).subarray(0, count)
