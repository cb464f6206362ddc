// The SQL of acceptance: what the gate looks up, and what it stores. Multi-row statements; a batch is a few round
// trips.
import type { Db, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { commaSeparated, isAmong, prepared, sql, Sql } from '../../platform/db/sql.ts'
import { within, type Reach } from '../../platform/principal.ts'
import type { SendResponse } from './send-schema.ts'
import type { Counters, Limits } from './windows.ts'

export interface TenantRow extends Limits, Counters {
  tenant_id: string
  account_id: string
  status: 'active' | 'disabled'
  max_recipients_per_message: number
  sandbox: boolean
  /** Where the tenant's line ends. */
  rank: Date
  /** Where the queue is being served; null when nothing waits. */
  head: Date | null
}

/** In statements along indexes: of a queue that was empty when this was planned, all that came since would be sorted. */
const head = sql`(select rank from queue where status = 'queued' and due_at is null order by rank limit 1)`

const tenantColumns = sql`t.id as tenant_id, t.account_id, t.status, t.max_recipients_per_message, t.quota_daily,
  t.quota_monthly, least(t.rate_per_minute, h.rate_per_minute) as rate_per_minute, t.rate_per_hour, a.sandbox, ${head} as head`

const withCounters = sql`select ${tenantColumns},
      c.minute, c.minute_count, c.hour, c.hour_count, c.day, c.day_count, c.month, c.month_count, c.rank
  from tenants t join accounts a on a.id = t.account_id join tenant_counters c on c.tenant_id = t.id
    left join tenant_throttles h on h.tenant_id = t.id`

const isTenant = (ids: readonly string[]): Sql => isAmong(sql`t.id`, ids)

/** The tenants of a batch with their counters locked, always in the same order, so that batches cannot deadlock. */
export const lockTenants = (tx: Tx, tenantIds: readonly string[]): Promise<TenantRow[]> =>
  tx.alongIndexes.many<TenantRow>(prepared`
    ${withCounters} where ${isTenant(tenantIds)} order by t.id for no key update of c`)

/** Locks tenants with their counters, without those that another transaction has locked. */
export const lockFreeTenants = (tx: Tx, tenantIds: readonly string[]): Promise<TenantRow[]> =>
  tx.alongIndexes.many<TenantRow>(prepared`
    ${withCounters} where ${isTenant(tenantIds)} order by t.id for no key update of c skip locked`)

/** Tenants without a lock, and without the counts, by which nothing may be decided then. */
export const listTenants = (tx: Tx, tenantIds: readonly string[]): Promise<TenantRow[]> =>
  tx.alongIndexes.many<TenantRow>(prepared`
    select ${tenantColumns},
      to_timestamp(0) as minute, 0 as minute_count, to_timestamp(0) as hour, 0 as hour_count, '1970-01-01'::date as day,
      0 as day_count, '1970-01-01'::date as month, 0 as month_count, coalesce(c.rank, to_timestamp(0)) as rank
    from tenants t join accounts a on a.id = t.account_id left join tenant_counters c on c.tenant_id = t.id
      left join tenant_throttles h on h.tenant_id = t.id
    where ${isTenant(tenantIds)}`)

/** A tenant's first message: its counters begin in the past, so every window counts as ended. */
export const insertMissingCounters = (tx: Tx, tenantIds: readonly string[]): Promise<number> =>
  tx.run(sql`
    insert into tenant_counters (tenant_id, minute, minute_count, hour, hour_count, day, day_count, month, month_count, rank)
    select id, 'epoch', 0, 'epoch', 0, 'epoch', 0, 'epoch', 0, 'epoch' from tenants where id = any(${tenantIds}::uuid[])
    on conflict do nothing`)

/** Adds what the batch counted to rows that it had not locked, so that they are locked for the commit alone. */
export const addToCounters = (tx: Tx, rows: readonly TenantRow[]): void =>
  tx.send(prepared`
    insert into tenant_counters as c
      (tenant_id, minute, minute_count, hour, hour_count, day, day_count, month, month_count, rank)
    select tenant_id, minute, minute_count, hour, hour_count, day, day_count, month, month_count, rank
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (tenant_id uuid, minute timestamptz, minute_count bigint,
      hour timestamptz, hour_count bigint, day date, day_count bigint, month date, month_count bigint, rank timestamptz)
    order by tenant_id
    on conflict (tenant_id) do update set
      minute = greatest(c.minute, excluded.minute),
      minute_count = ${COUNTED.minute},
      hour = greatest(c.hour, excluded.hour),
      hour_count = ${COUNTED.hour},
      day = greatest(c.day, excluded.day),
      day_count = ${COUNTED.day},
      month = greatest(c.month, excluded.month),
      month_count = ${COUNTED.month},
      rank = greatest(c.rank, excluded.rank)`)

/** A window that the row has not reached begins with our count; one that it has left behind is nobody's any more. */
function counted(window: 'minute' | 'hour' | 'day' | 'month'): Sql {
  const text = `case when c.${window} = excluded.${window} then c.${window}_count + excluded.${window}_count
    when c.${window} < excluded.${window} then excluded.${window}_count else c.${window}_count end`
  return new Sql([text], [], { isFixed: true })
}

const COUNTED = { minute: counted('minute'), hour: counted('hour'), day: counted('day'), month: counted('month') }

export const updateCounters = (tx: Tx, rows: readonly TenantRow[]): void =>
  tx.alongIndexes.send(prepared`
    update tenant_counters c set minute = r.minute, minute_count = r.minute_count, hour = r.hour, hour_count = r.hour_count,
      day = r.day, day_count = r.day_count, month = r.month, month_count = r.month_count, rank = r.rank
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (tenant_id uuid, minute timestamptz, minute_count bigint,
      hour timestamptz, hour_count bigint, day date, day_count bigint, month date, month_count bigint, rank timestamptz)
    where ${isLookedUpBy(sql`c.tenant_id`, sql`r.tenant_id`)}`)

/** In the order of ids, as acceptance locks them. */
export function advanceRanks(tx: Tx, wanted: readonly { tenantId: string; milliseconds: number }[]) {
  const ordered = wanted.toSorted((one, other) => (one.tenantId < other.tenantId ? -1 : 1))
  return tx.alongIndexes.many<{ tenant_id: string; first: Date }>(prepared`
    with line as (
      select c.tenant_id, greatest(c.rank, least(${tx.now}, ${head})) as first, w.milliseconds
      from unnest(${ordered.map(each => each.tenantId)}::uuid[], ${ordered.map(each => each.milliseconds)}::bigint[])
        as w (tenant_id, milliseconds)
      join tenant_counters c on ${isLookedUpBy(sql`c.tenant_id`, sql`w.tenant_id`)}
      for no key update of c
    )
    update tenant_counters c set rank = line.first + line.milliseconds * interval '1 millisecond'
    from line where ${isLookedUpBy(sql`c.tenant_id`, sql`line.tenant_id`)} returning c.tenant_id, line.first`)
}

export interface UsageRow {
  tenant_id: string
  account_id: string
  day: string
  recipients: number
  messages: number
}

export const addUsage = (tx: Tx, rows: readonly UsageRow[]): void =>
  tx.send(prepared`
    insert into usage_days as u (tenant_id, account_id, day, recipients, messages)
    select tenant_id, account_id, day, recipients, messages
    from json_to_recordset(${JSON.stringify(rows)}::json)
      as r (tenant_id uuid, account_id uuid, day date, recipients bigint, messages bigint)
    order by tenant_id
    on conflict (tenant_id, day) do update
    set recipients = u.recipients + excluded.recipients, messages = u.messages + excluded.messages`)

export const listVerifiedDomains = (db: Db, wanted: readonly { tenantId: string; name: string }[]) =>
  db.many<{ id: string; tenant_id: string; name: string }>(prepared`
    select d.id, d.tenant_id, d.name
    from unnest(${wanted.map(each => each.tenantId)}::uuid[], ${wanted.map(each => each.name)}::text[]) as w (tenant_id, name)
    join domains d on d.tenant_id = w.tenant_id and d.name = w.name
    where d.verified_at is not null`)

export interface KnownKey {
  tenant_id: string
  key: string
  body_hash: Buffer
  /** Another door keeps other answers, for bodies that the gate never sees: theirs have another hash. */
  response: SendResponse
}

export const listIdempotencyKeys = (db: Db, wanted: readonly { tenantId: string; key: string }[], since: Date) =>
  db.many<KnownKey>(prepared`
    select i.tenant_id, i.key, i.body_hash, i.response
    from unnest(${wanted.map(each => each.tenantId)}::uuid[], ${wanted.map(each => each.key)}::text[]) as w (tenant_id, key)
    cross join lateral (
      select * from idempotency_keys i where i.tenant_id = w.tenant_id and i.key = w.key and i.created_at > ${since} offset 0
    ) i`)

export interface NewKey {
  tenantId: string
  key: string
  bodyHash: Buffer
  /** The message, or the draft that sends it later. */
  madeId: string
  response: object
}

/**
 * Answers how many were free, or taken more than a day ago. One that another transaction is writing is waited for, and
 * then is not free.
 */
export const insertIdempotencyKeys = async (tx: Tx, keys: readonly NewKey[], since: Date): Promise<number> =>
  tx.run(prepared`
    insert into idempotency_keys as i (tenant_id, key, body_hash, message_id, response, created_at)
    select tenant_id, key, body_hash, made_id, response::jsonb, ${tx.now}
    from unnest(${keys.map(key => key.tenantId)}::uuid[], ${keys.map(key => key.key)}::text[],
      ${keys.map(key => key.bodyHash)}::bytea[], ${keys.map(key => key.madeId)}::uuid[],
      ${keys.map(key => JSON.stringify(key.response))}::text[]) as k (tenant_id, key, body_hash, made_id, response)
    order by tenant_id, key
    on conflict (tenant_id, key) do update
    set body_hash = excluded.body_hash, message_id = excluded.message_id, response = excluded.response,
      created_at = excluded.created_at
    where i.created_at <= ${since}`)

/** Of keys that this transaction took: what another door than the gate's own answered. */
export const updateResultsOfKeys = (tx: Tx, keys: readonly { tenantId: string; key: string; result: object }[]): void =>
  tx.alongIndexes.send(prepared`
    update idempotency_keys i set response = i.response || jsonb_build_object('result', k.result::jsonb)
    from unnest(${keys.map(key => key.tenantId)}::uuid[], ${keys.map(key => key.key)}::text[],
      ${keys.map(key => JSON.stringify(key.result))}::text[]) as k (tenant_id, key, result)
    where ${isLookedUpBy(sql`i.tenant_id`, sql`k.tenant_id`)} and i.key = k.key`)

/**
 * The answer to the same request, in whichever tenant of the reach. Each tenant's key is one probe of the index: a join that
 * the planner chooses might read all keys of all accounts.
 */
export const findSameRequest = (
  db: Db,
  reach: Reach,
  { key, bodyHash, since }: { key: string; bodyHash: Buffer; since: Date },
): Promise<{ response: object } | null> =>
  db.maybe(prepared`
    select same.response from tenants t
    cross join lateral (
      select response from idempotency_keys i
      where i.tenant_id = t.id and i.key = ${key} and i.body_hash = ${bodyHash} and i.created_at > ${since} offset 0
    ) same
    where ${within(reach, { account: sql`t.account_id`, tenant: sql`t.id` })} and t.status <> 'disabled' limit 1`)

export interface MessageRow {
  id: string
  account_id: string
  tenant_id: string
  api_key_id: string | null
  credential_id: string | null
  domain_id: string | null
  sender: string
  sender_domain: string
  from_header: string
  subject: string | null
  rfc_message_id: string
  tags: readonly string[]
  metadata: Readonly<Record<string, string>>
  size: number
  recipients: number
  is_sandbox: boolean
  needs_smtputf8: boolean
  has_unsubscribe: boolean
  /** The inbox through whose provider it leaves. */
  relay_inbox_id?: string
  /** The time in the id: lists filter by the one and show the other. */
  created_at: Date
}

export const insertMessages = (tx: Tx, rows: readonly MessageRow[]): void =>
  tx.send(prepared`
    insert into messages (id, account_id, tenant_id, api_key_id, credential_id, domain_id, sender, sender_domain,
      from_header, subject, rfc_message_id, tags, metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe,
      relay_inbox_id, created_at)
    select id, account_id, tenant_id, api_key_id, credential_id, domain_id, sender, sender_domain, from_header, subject,
      rfc_message_id, tags, metadata, size, recipients, is_sandbox, needs_smtputf8, has_unsubscribe, relay_inbox_id, created_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as m (id uuid, account_id uuid, tenant_id uuid, api_key_id uuid,
      credential_id uuid, domain_id uuid, sender text, sender_domain text, from_header text, subject text,
      rfc_message_id text, tags jsonb, metadata jsonb, size integer, recipients integer, is_sandbox boolean,
      needs_smtputf8 boolean, has_unsubscribe boolean, relay_inbox_id uuid, created_at timestamptz)`)

/** One bound value per body: an array of them would travel as text, twice as long and parsed byte by byte. */
export const insertBodies = (tx: Tx, bodies: readonly { messageId: string; source: Buffer }[]): void => {
  const rows = bodies.map(({ messageId, source }) => sql`(${messageId}::uuid, ${source}::bytea)`)
  const insert = sql`insert into message_bodies (message_id, source) values`
  tx.send(rows.length === 1 ? prepared`${insert} ${rows[0]}` : sql`${insert} ${commaSeparated(rows)}`)
}
