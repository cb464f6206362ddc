// The SQL of statuses: the events that move them, what the deliveries say, and the backlog.
import type { Tx } from '../../../platform/db/database.ts'
import { bareArray, prepared, sql, type Sql } from '../../../platform/db/sql.ts'

interface Range {
  after: number
  upTo: number
}

export interface DeliveryEvent {
  id: number
  type: string
  message_id: string
  recipient: string | null
  data: Record<string, unknown>
  inbox_message_id: string
  inbox_id: string
  account_id: string
  tenant_id: string
  thread_id: string
  approval_id: string | null
  status: string
}

/** Events of these ids that are about mail of an inbox, in their order, without those of accounts in the backlog. */
export const listDeliveryEventsAnywhere = (tx: Tx, range: Range): Promise<DeliveryEvent[]> =>
  listEvents(tx, range, {
    ofEvents: sql`true`,
    ofMail: sql`not exists (select from mailbox_backlogs b where b.account_id = m.account_id)`,
  })

export const listDeliveryEvents = (tx: Tx, accountId: string, range: Range): Promise<DeliveryEvent[]> =>
  listEvents(tx, range, { ofEvents: sql`e.account_id = ${accountId}`, ofMail: sql`true` })

/**
 * Most mail is of no inbox, and what happens to mail for thousands is about one message: each message is looked up once. A
 * subquery with an offset is taken as it is, in the order in which they are written. An event and its mail are of one account.
 */
function listEvents(
  tx: Tx,
  { after, upTo }: Range,
  { ofEvents, ofMail }: { ofEvents: Sql; ofMail: Sql },
): Promise<DeliveryEvent[]> {
  const isWanted = sql`e.id > ${after} and e.id <= ${upTo} and e.inbox_id is null
    and e.type = any(${Object.keys(EVENT_KINDS)}::text[])`
  return tx.alongIndexes.many<DeliveryEvent>(prepared`
    with submission as materialized (
      select distinct e.message_id from events e where ${isWanted} and ${ofEvents}
    ), mail as materialized (
      select m.* from submission s cross join lateral (
        select m.id as inbox_message_id, m.message_id, m.inbox_id, m.account_id, m.tenant_id, m.thread_id, m.approval_id,
          m.status
        from inbox_messages m where m.message_id = s.message_id and ${ofMail} offset 0) m
    )
    select e.id, e.type, e.recipient, e.data, m.* from mail m cross join lateral (
      select e.id, e.type, e.recipient, e.data from events e
      where e.message_id = m.message_id and ${isWanted} offset 0) e
    order by e.id`)
}

/** The last of so many events of the account, whatever they are about; null when there are fewer. */
export const findSliceEnd = (tx: Tx, accountId: string, { after, upTo, eventsMax }: Range & { eventsMax: number }) =>
  tx.maybeValue<number>(prepared`
    select id from events where account_id = ${accountId} and inbox_id is null and id > ${after} and id <= ${upTo}
    order by id offset ${eventsMax - 1} limit 1`)

/** How many recipients each submission has: they are numbered, so the last one tells. */
export const countRecipients = (tx: Tx, messageIds: readonly string[]) =>
  tx.many<{ message_id: string; recipients: number }>(prepared`
    select message_id, coalesce((
      select d.n + 1 from deliveries d where d.message_id = s.message_id order by d.n desc limit 1), 1) as recipients
    from unnest(${bareArray(messageIds)}::uuid[]) as s (message_id)`)

/**
 * What became of each submission, in one word. While any delivery is open, and so in the queue: sent when somebody has it.
 * Then the worst end counts: a mail that one of three recipients never got is not delivered. Each question ends with the first
 * row that answers it; a count would look at ten thousand for each event of a large message. A `limit` keeps the planner from
 * reading a whole table once instead.
 */
export async function listStatuses(
  tx: Tx,
  submissions: readonly Pick<DeliveryEvent, 'message_id' | 'account_id' | 'tenant_id'>[],
): Promise<ReadonlyMap<string, string>> {
  const queued = sql`select 1 from queue q
    where q.account_id = s.account_id and q.tenant_id = s.tenant_id and q.message_id = s.message_id`
  const rows = await tx.alongIndexes.many<{ message_id: string; status: string }>(prepared`
    select s.message_id, case
      when (${queued} limit 1) is null then coalesce(${ended(sql`'complained'`)}, ${ended(sql`'bounced'`)},
        ${ended(sql`'blocked'`)}, ${ended(sql`'expired'`)}, ${delivered}, ${ended(sql`'cancelled'`)},
        ${ended(sql`'suppressed'`)}, 'queued')
      when coalesce(${ended(sql`'complained'`)}, ${delivered}) is not null then 'sent'
      when (${queued} and q.status <> 'held' limit 1) is null then 'held'
      else 'queued' end as status
    from unnest(${bareArray(submissions.map(each => each.message_id))}::uuid[],
      ${bareArray(submissions.map(each => each.account_id))}::uuid[],
      ${bareArray(submissions.map(each => each.tenant_id))}::uuid[]) as s (message_id, account_id, tenant_id)`)
  return new Map(rows.map(({ message_id, status }) => [message_id, status]))
}

/** The status, if any delivery has it. Written into the statement: the index of rare ones is for those that it names. */
const ended = (rareStatus: Sql): Sql => sql`(select d.status from deliveries d
  where d.account_id = s.account_id and d.message_id = s.message_id and d.status = ${rareStatus} limit 1)`

/** Along the primary key: by the account as well, the planner would look through all that the account ever sent. */
const delivered = sql`(select d.status from deliveries d
  where d.message_id = s.message_id and d.status = 'delivered' order by d.n limit 1)`

export const hasBacklogs = async (tx: Tx): Promise<boolean> =>
  (await tx.maybe(prepared`select from mailbox_backlogs limit 1`)) !== null

/** What the streams of an inbox call events of deliveries. Null: only the status moves. */
export const EVENT_KINDS: Readonly<Record<string, string | null>> = {
  delivered: 'message.delivered',
  bounced: 'message.bounced',
  blocked: 'message.bounced',
  expired: 'message.bounced',
  complained: 'message.complained',
  cancelled: null,
  held: null,
  released: null,
}
