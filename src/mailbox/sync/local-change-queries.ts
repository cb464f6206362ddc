// The SQL of what was changed here and not yet at the provider.
import type { Db } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { RemoteMessage } from './message-queries.ts'

/**
 * Something that was done here and not yet at the provider. `is_read`: as both sides agreed last. Without `message_id`: removed
 * for good.
 */
export interface LocalChange extends RemoteMessage {
  /** As it is here. */
  now_read: boolean | null
  now_folder_id: string | null
  /** The message is in no folder here that the provider has it in, and this is the one to be moved. */
  is_moved: boolean
}

/**
 * Blocked mail stays where the provider has it: only here it is in spam. Unless the folder there is to be deleted. Under legal
 * hold nothing is removed at the provider either.
 */
export const listLocalChanges = (
  db: Db,
  { inboxId, messageIds, limit }: { inboxId: string; messageIds: readonly string[] | null; limit: number },
): Promise<LocalChange[]> =>
  db.many<LocalChange>(sql`
    with known as (
      select r.remote_folder_id, r.uid, r.identity, r.is_read, r.message_id, m.is_read as now_read,
        m.folder_id as now_folder_id,
        rf.folder_id is distinct from m.folder_id
          and not (m.is_blocked and f.name_key = 'spam' and (rf.folder_id is not null or rf.agreed_name is null))
          and not exists (select from remote_messages o join remote_folders orf on orf.id = o.remote_folder_id
            where o.message_id = m.id and o.uid > 0 and orf.folder_id = m.folder_id)
          and row_number() over (partition by m.id
            order by rf.is_mirrored desc, rf.role = 'inbox' desc nulls last, rf.id, r.uid) = 1 as is_moved
      from remote_messages r
      join remote_folders rf on rf.id = r.remote_folder_id
      join inbox_messages m on m.id = r.message_id
      join folders f on f.id = m.folder_id and f.discarded_at is null
      where r.inbox_id = ${inboxId} and r.uid > 0 and r.message_id is not null
        and (${messageIds === null} or r.message_id = any(${bareArray(messageIds ?? [])}::uuid[]))
    )
    select * from known where is_read <> now_read or is_moved
    union all
    select r.remote_folder_id, r.uid, r.identity, r.is_read, null, null, null, false
    from remote_messages r where r.inbox_id = ${inboxId} and r.message_id is null and r.uid > 0
      and not (select a.legal_hold from inboxes i join accounts a on a.id = i.account_id where i.id = ${inboxId})
    limit ${limit}`)

/** Something was removed for good here and is still at the provider, and no legal hold keeps it there. */
export const hasRemovals = (db: Db, inboxId: string): Promise<boolean> =>
  db.value<boolean>(prepared`
    select exists (select from remote_messages where inbox_id = ${inboxId} and message_id is null and uid > 0)
      and not (select a.legal_hold from inboxes i join accounts a on a.id = i.account_id where i.id = ${inboxId})`)

/** What the journal says was changed in these inboxes. Without a message: its folders. */
export const listChanged = (
  db: Db,
  { inboxIds, after, upTo }: { inboxIds: readonly string[]; after: number; upTo: number },
): Promise<{ inbox_id: string; message_id: string | null }[]> =>
  db.many(sql`
    select inbox_id, data->>'message_id' as message_id from events
    where id > ${after} and id <= ${upTo} and inbox_id = any(${bareArray(inboxIds)}::uuid[])
      and (type in ('message.updated', 'message.deleted')
        or type = 'inbox.updated' and data->'changed' @> '["folders"]')`)
