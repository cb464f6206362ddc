// SQL over the bytes of an attachment, of a message or of a draft; and who may read it.
import type { Db } from '../../platform/db/database.ts'
import { all, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'

export interface AttachmentHead {
  id: string
  filename: string | null
  size: number
  is_of_draft: boolean
}

/** Where a message or a draft of the caller's reach has it; an attachment in the trash is still one. */
export const requireAttachment = async (db: Db, reach: Reach, id: string): Promise<AttachmentHead> =>
  (await db.maybe<AttachmentHead>(prepared`
    select a.id, a.filename, a.size, false as is_of_draft from source_attachments a
    where a.id = ${id} and exists (
      select 1 from inbox_messages m join inboxes i on i.id = m.inbox_id join folders f on f.id = m.folder_id
      where m.source_id = a.source_id and i.deleted_at is null and f.discarded_at is null
        and ${isReachable(reach, sql`m`)})
    union all
    select a.id, a.filename, a.size, true from draft_attachments a
      join drafts d on d.id = a.draft_id join inboxes i on i.id = d.inbox_id
    where a.id = ${id} and i.deleted_at is null and ${isReachable(reach, sql`d`)}`)) ?? missing('attachment')

const isReachable = (reach: Reach, row: Sql): Sql =>
  all([
    within(reach, { account: sql`${row}.account_id`, tenant: sql`${row}.tenant_id` }),
    reach.inboxId !== null && sql`${row}.inbox_id = ${reach.inboxId}`,
  ])

/** Some bytes of it, from this one on. */
export async function findBytes(
  db: Db,
  { id, is_of_draft: isOfDraft }: Pick<AttachmentHead, 'id' | 'is_of_draft'>,
  { start, bytes }: { start: number; bytes: number },
): Promise<Buffer | null> {
  const table = isOfDraft ? sql`draft_attachments` : sql`source_attachments`
  return db.maybeValue<Buffer>(prepared`
    select substring(content from ${start + 1} for ${bytes}) from ${table} where id = ${id}`)
}
