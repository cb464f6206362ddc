// A connection of an inbox, as a grant leaves it, and what of its mailbox is here.
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import type { World } from '../../platform/world.ts'

export interface Mirrored {
  id: string
  folder: string
  subject: string
  direction: string
  is_read: boolean
  received_at: Date
}

export const insertConnection = ({ db }: World, { inboxId, address }: { inboxId: string; address: string }) =>
  db.transact(system('test'), tx =>
    tx.run(sql`
      insert into connections (inbox_id, account_id, tenant_id, provider, address, state, connected_at, due_at)
      select id, account_id, tenant_id, 'google', ${address}, 'syncing', ${tx.now}, ${tx.now}
      from inboxes where id = ${inboxId}`),
  )

/** Null: not any more. */
export const setDue = ({ db }: World, inboxId: string, dueAt: Date | null): Promise<number> =>
  db.transact(system('test'), tx => tx.run(sql`update connections set due_at = ${dueAt} where inbox_id = ${inboxId}`))

export const listMirrored = ({ db }: World, inboxId: string): Promise<Mirrored[]> =>
  db.many<Mirrored>(sql`
    select m.id, f.name as folder, m.subject, m.direction, m.is_read, m.received_at
    from inbox_messages m join folders f on f.id = m.folder_id where m.inbox_id = ${inboxId}
    order by m.id limit 5000`)

export const findConnection = (
  { db }: World,
  inboxId: string,
): Promise<{
  state: string
  error: string | null
  messages_synced: number
  messages_total: number | null
  due_at: Date | null
}> =>
  db.one(sql`
    select state, error, messages_synced, messages_total, due_at from connections where inbox_id = ${inboxId}`)
