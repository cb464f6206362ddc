// The append: all events and audit entries of a transaction in one statement, last thing before its commit. The caller
// holds the journal lock, so ids are handed out in commit order and a reader asking `id > cursor` misses nothing.
import type { Actor } from '../db/actor.ts'
import { bareArray, prepared, type Sql } from '../db/sql.ts'
import { canonicalContent } from './canonical-entry.ts'

/** Something that happened. `data` holds what the type adds. */
export interface EventDraft {
  type: string
  accountId: string
  tenantId?: string | null
  messageId?: string | null
  recipient?: string | null
  data?: object
}

/** Something that somebody changed. The actor comes from the transaction. */
export interface AuditDraft {
  /** What it is called when no endpoint does it. An endpoint's entry always has the action of its contract. */
  action?: string
  accountId: string | null
  tenantId?: string | null
  target: { type: string; id: string }
  before?: object | null
  after?: object | null
  /** Where a transaction acts for several callers at once: the one of this entry. */
  by?: Actor
}

interface Appended {
  events: readonly EventDraft[]
  entries: readonly AuditDraft[]
  by: Actor
  now: Date
}

/** Recorded with each entry; see observers/audit for the rule of each version. */
export const MAC_VERSION = 2

/**
 * `mac` authenticates what an entry says; its place and time are only known under the lock, so the database adds them:
 * SHA-256 over that MAC, the id, the previous id and the time. The inner MAC is never stored, so nobody who reads the
 * table can make the outer one for another place. Making it here instead would hold the lock, and with it every other
 * commit, for a turn of our event loop.
 */
export function appendJournal({ events, entries, by, now }: Appended, mac: (content: string) => Buffer): Sql {
  if (entries.length === 0) return appendEvents(events, now)
  const rows = entries.map(entry => auditRow(entry, entry.by ?? by))
  const macs = rows.map(row => mac(canonicalContent(row)))
  // Audit ids are gapless (max + 1 under the lock), so that a missing number proves a removal. Time never goes back from
  // one entry to the next, although a transaction that began first may commit last.
  return prepared`
    with happened as (${appendEvents(events, now)}),
      last as (select id, created_at from audit_entries order by id desc limit 1),
      moment as materialized (
        select coalesce(max(id), 0) as last_id, greatest(${now}, max(created_at)) as created_at,
          int8send((extract(epoch from greatest(${now}, max(created_at))) * 1000000)::bigint) as micros
        from last
      )
    insert into audit_entries (id, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action,
      target_type, target_id, before, after, request_id, created_at, mac, mac_version)
    select last_id + n, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action, target_type, target_id,
      before::json, after::json, request_id, created_at,
      sha256(mac || int8send(last_id + n) || int8send(last_id + n - 1) || micros), ${MAC_VERSION}
    from moment, unnest(${rows.map(row => row.accountId)}::uuid[], ${rows.map(row => row.tenantId)}::uuid[],
      ${rows.map(row => row.actorType)}::text[], ${rows.map(row => row.actorId)}::text[],
      ${rows.map(row => row.actorName)}::text[], ${rows.map(row => row.ip)}::text[],
      ${rows.map(row => row.action)}::text[], ${rows.map(row => row.targetType)}::text[],
      ${rows.map(row => row.targetId)}::text[], ${rows.map(row => row.before)}::text[],
      ${rows.map(row => row.after)}::text[], ${rows.map(row => row.requestId)}::text[], ${macs}::bytea[])
      with ordinality as entry (account_id, tenant_id, actor_type, actor_id, actor_name, ip, action, target_type,
        target_id, before, after, request_id, mac, n)
    order by n`
}

const appendEvents = (events: readonly EventDraft[], now: Date): Sql =>
  areAlike(events) ? appendAlike(events, now) : appendAny(events, now)

/** Work over a long queue says the same of thousands of recipients, with one object for what it adds. */
function areAlike(events: readonly EventDraft[]): boolean {
  const [first] = events
  return (
    events.length >= ALIKE_MIN &&
    events.every(
      ({ type, accountId, data }) => type === first!.type && accountId === first!.accountId && data === first!.data,
    )
  )
}

const ALIKE_MIN = 100

/** What all share is sent and read once. */
const appendAlike = (events: readonly EventDraft[], now: Date): Sql => prepared`
  insert into events (account_id, tenant_id, message_id, recipient, type, created_at, data)
  select ${events[0]!.accountId}::uuid, tenant_id, message_id, recipient, ${events[0]!.type}, ${now},
    (select ${JSON.stringify(events[0]!.data ?? {})}::jsonb)
  from unnest(${tenantsOf(events)}::uuid[], ${messagesOf(events)}::uuid[], ${recipientsOf(events)}::text[])
    with ordinality as event (tenant_id, message_id, recipient, n)
  order by n`

const appendAny = (events: readonly EventDraft[], now: Date): Sql => prepared`
  insert into events (account_id, tenant_id, message_id, recipient, type, created_at, data)
  select account_id, tenant_id, message_id, recipient, type, ${now}, data::jsonb
  from unnest(${bareArray(events.map(event => event.accountId))}::uuid[], ${tenantsOf(events)}::uuid[],
    ${messagesOf(events)}::uuid[], ${recipientsOf(events)}::text[],
    ${events.map(event => event.type)}::text[], ${events.map(event => JSON.stringify(event.data ?? {}))}::text[])
    with ordinality as event (account_id, tenant_id, message_id, recipient, type, data, n)
  order by n`

const tenantsOf = (events: readonly EventDraft[]): string => bareArray(events.map(event => event.tenantId ?? null))
const messagesOf = (events: readonly EventDraft[]): string => bareArray(events.map(event => event.messageId ?? null))
const recipientsOf = (events: readonly EventDraft[]): (string | null)[] => events.map(event => event.recipient ?? null)

function auditRow(entry: AuditDraft, by: Actor) {
  const action = by.action ?? entry.action
  if (!action) throw new Error(`an audit entry about a ${entry.target.type} needs an action`)
  return {
    accountId: entry.accountId,
    tenantId: entry.tenantId ?? null,
    actorType: by.type,
    actorId: by.id,
    actorName: by.name,
    ip: by.ip,
    action,
    targetType: entry.target.type,
    targetId: entry.target.id,
    before: entry.before ? JSON.stringify(entry.before) : null,
    after: entry.after ? JSON.stringify(entry.after) : null,
    requestId: by.requestId,
  }
}
