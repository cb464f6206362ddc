// Reading the journal for people: filtered, restricted to the caller's reach, paged on the id.
import type { Db, Database } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import { findIdAhead, type JournalEvent } from '../../platform/journal/read.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import type { Event } from './contract.ts'
import { presentEvent } from './present.ts'

interface EventFilter {
  type: string | null
  tenantId: string | null
  messageId: string | null
  recipient: string | null
  beforeId: number | null
  afterId: number | null
  limit: number
}

type Row = JournalEvent & Pick<Event, 'type'>

/** From the oldest on where it is asked what comes after an id. */
export async function listEvents(db: Db & Pick<Database, 'lists'>, reach: Reach, filter: EventFilter) {
  const { type, tenantId, messageId, recipient, beforeId, afterId, limit } = filter
  const follows = afterId !== null
  // Who goes on from the last id that is answered would never see an event below it that is committed later. The primary
  // knows of those alone.
  const upTo = follows ? await findIdAhead(db, { cursor: afterId, limit: Infinity }) : null
  if (follows && upTo === null) return []
  const reader = follows ? db : db.lists
  const rows = await reader.many<Row>(sql`
    select id, type, account_id, tenant_id, message_id, recipient, inbox_id, created_at, data
    from events
    where ${all([
      within(reach),
      // Those of an inbox are read by its streams.
      sql`inbox_id is null`,
      type !== null && typeIs(type),
      ofTenant(tenantId),
      messageId !== null && sql`message_id = ${messageId}`,
      recipient !== null && isAbout(recipient, reach),
      beforeId !== null && sql`id < ${beforeId}`,
      follows && sql`id > ${afterId} and id <= ${upTo}`,
    ])}
    order by id ${follows ? sql`asc` : sql`desc`} limit ${limit}`)
  return rows.map(presentEvent)
}

/** Says again what the partial index on rare types says, so that the planner can use it with a bound value. */
const typeIs = (type: string): Sql =>
  type === 'accepted' || type === 'delivered'
    ? sql`type = ${type}`
    : sql`type = ${type} and type not in ('accepted', 'delivered')`

/** What happened to a recipient of a message is found through the message; the rest through an index of its own. */
const isAbout = (
  recipient: string,
  reach: Reach,
) => sql`recipient = ${recipient} and (message_id is null or message_id in (
  select message_id from deliveries where account_id = ${reach.accountId} and recipient = ${recipient}))`
