// Reading messages: lists and details, restricted to the caller's reach. The state of a delivery is in the queue
// while it is open and in the delivery afterwards.
import { displayValue } from '../../mail/mime/headers.ts'
import type { Db, Reads } from '../../platform/db/database.ts'
import { all, sql, type Sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import type { Found } from '../../platform/http/paging.ts'
import { firstIdAt } from '../../platform/ids.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import type { Delivery, DeliveryStatus, Message } from './contract.ts'

interface MessageFilter {
  tenantId: string | null
  recipient: string | null
  from: string | null
  status: DeliveryStatus | null
  since: Date | null
  until: Date | null
  before: Date | null
  after: string | null
  limit: number
}

interface Row extends Omit<Message, 'created_at' | 'from' | 'counts'> {
  from_header: string
  counts: Record<string, number>
  created_at: Date
}

const columns = sql`m.id, m.tenant_id, m.from_header, m.subject, m.rfc_message_id, m.tags, m.metadata, m.size,
  m.api_key_id, m.credential_id, m.created_at`

const isQueuedAs = sql`(q.account_id, q.tenant_id, q.message_id, q.n) = (d.account_id, d.tenant_id, d.message_id, d.n)`

const counts = sql`(
  select coalesce(jsonb_object_agg(status, count), '{}') from (
    select coalesce(q.status, d.status) as status, count(*)
    from deliveries d left join queue q on ${isQueuedAs}
    where d.message_id = m.id group by 1
  ) by_status) as counts`

const toMessage = ({ from_header, created_at, ...row }: Row): Message => ({
  ...row,
  from: displayValue(from_header),
  created_at: created_at.toISOString(),
})

/** Of tags and metadata on a page: a message may have 100 KB of them, and 500 such messages would be 50 MB at once. */
const PAGE_BYTES_MAX = 1024 * 1024

/** A page ends early when its messages are large. */
export async function listMessages(db: Reads, reach: Reach, filter: MessageFilter): Promise<Found<Message>> {
  const { tenantId, recipient, from, status, since, until, before, after, limit } = filter
  // Times are compared through the time-ordered id, which the partitions and every index are ordered by.
  const rows = await db.many<Row & { found: number }>(sql`
    with page as materialized (
      select m.id, row_number() over newest_first as ordinal,
        sum(octet_length(m.metadata::text) + octet_length(m.tags::text)) over newest_first as bytes
      from messages m
      where ${all([
        within(reach, { account: sql`m.account_id`, tenant: sql`m.tenant_id` }),
        tenantId !== null && sql`m.tenant_id = ${tenantId}`,
        from !== null && sql`m.sender = ${from}`,
        since !== null && sql`m.id >= ${firstIdAt(since)}`,
        until !== null && sql`m.id < ${firstIdAt(new Date(until.getTime() + 1))}`,
        before !== null && sql`m.id < ${firstIdAt(before)}`,
        after !== null && sql`m.id < ${after}`,
        recipient !== null && hasRecipient(recipient, status, reach),
        recipient === null && status !== null && hasStatus(status, reach),
      ])}
      window newest_first as (order by m.id desc rows unbounded preceding)
      order by m.id desc limit ${limit}
    )
    select ${columns}, ${counts}, (select count(*) from page) as found
    from page join messages m on m.id = page.id
    where page.bytes <= ${PAGE_BYTES_MAX} or page.ordinal = 1
    order by m.id desc`)
  const isCut = rows.length > 0 && rows[0]!.found > rows.length
  return { rows: rows.map(({ found: _, ...row }) => toMessage(row)), isCut }
}

/** With a status: that very recipient has it. */
const hasRecipient = (recipient: string, status: DeliveryStatus | null, reach: Reach): Sql => sql`m.id in (
  select d.message_id from deliveries d left join queue q on ${isQueuedAs}
  where ${all([
    sql`d.account_id = ${reach.accountId} and d.recipient = ${recipient}`,
    status !== null && sql`coalesce(q.status, d.status) = ${status}`,
  ])})`

function hasStatus(status: DeliveryStatus, reach: Reach): Sql {
  switch (status) {
    case 'queued':
    case 'sending':
    case 'deferred':
    case 'held':
      return sql`m.id in (select message_id from queue where account_id = ${reach.accountId} and status = ${status})`
    case 'delivered':
      return sql`exists (select from deliveries d where d.message_id = m.id and d.status = 'delivered')`
    default:
      // Says again what the partial index on rare statuses says, so that the planner can use it with a bound value.
      return sql`m.id in (select message_id from deliveries where account_id = ${reach.accountId}
        and status = ${status} and status not in ('open', 'delivered'))`
  }
}

type DeliveryRow = RowOf<Delivery, 'next_attempt_at' | 'updated_at'>

export async function requireMessage(db: Db, reach: Reach, id: string) {
  const row = await db.maybe<Row>(sql`
    select ${columns}, ${counts} from messages m
    where m.id = ${id} and ${within(reach, { account: sql`m.account_id`, tenant: sql`m.tenant_id` })}`)
  if (!row) throw notFound('message')
  const deliveries = await db.many<DeliveryRow>(sql`
    select d.recipient, d.kind, coalesce(q.status, d.status) as status, coalesce(q.attempts, d.attempts) as attempts,
      case q.status when 'deferred' then q.due_at end as next_attempt_at,
      coalesce(q.smtp_code, d.smtp_code) as smtp_code, coalesce(q.enhanced_code, d.enhanced_code) as enhanced_code,
      coalesce(q.response, d.response) as response, coalesce(q.mx_host, d.mx_host) as mx_host, d.bounce_type,
      case q.status when 'held' then q.suspension_id end as suspension_id,
      coalesce(q.updated_at, d.updated_at) as updated_at
    from deliveries d left join queue q on ${isQueuedAs}
    where d.message_id = ${id} order by d.n`)
  return { ...toMessage(row), deliveries: deliveries.map(withTimesAsText) }
}
