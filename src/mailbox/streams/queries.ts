// All SQL of streams: their slots, and the events of inboxes as the journal has them.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'

export interface StoredEvent {
  id: number
  type: string
  inbox_id: string
  created_at: Date
  /** JSON, as it goes out. */
  data: string
}

/** Where the journal stands, and from where on the events of an inbox are there. */
export interface Bounds {
  /** The newest that is committed. */
  newest: number
  /** No id above this one was ever given out. */
  last: number
  /** Events of the inbox up to this id were deleted for their age. */
  floor: number
}

/** In the order of the inboxes. */
export const listBounds = (db: Db, inboxIds: readonly string[]): Promise<Bounds[]> =>
  db.many<Bounds>(prepared`
    select coalesce((select id from events order by id desc limit 1), 0) as newest,
      (select last_value from events_id_seq) as last, coalesce(floor.id, 0) as floor
    from unnest(${bareArray(inboxIds)}::uuid[]) with ordinality as asked (inbox_id, n)
      left join event_floors floor on floor.inbox_id = asked.inbox_id
    order by n`)

/** Null when the inbox has none. */
export const findOldestEvent = (db: Db, inboxId: string): Promise<{ id: number } | null> =>
  db.maybe(prepared`select id from events where inbox_id = ${inboxId} order by id limit 1`)

export interface Range {
  after: number
  upTo: number
}

/** What a stream has missed, a page at a time. */
export const listMissed = (db: Db, { inboxId, after, upTo, limit }: Range & { inboxId: string; limit: number }) =>
  db.many<StoredEvent>(prepared`
    select id, type, inbox_id, created_at, data::text as data from events
    where inbox_id = ${inboxId} and id > ${after} and id <= ${upTo}
    order by id limit ${limit}`)

/** What is new for any of the inboxes. Planned anew each time: how many they are decides how it is best done. */
export const listNew = (db: Db, { inboxIds, after, upTo }: Range & { inboxIds: readonly string[] }) =>
  db.many<StoredEvent>(sql`
    select id, type, inbox_id, created_at, data::text as data from events
    where id > ${after} and id <= ${upTo} and inbox_id = any(${bareArray(inboxIds)}::uuid[])
    order by id`)

export interface SlotAsked {
  token: string
  keyId: string
}

/**
 * Takes a free slot for each that asks, as far as its key has any. Those that are answered with `is_taken` false lost
 * theirs to another process at the last moment, and may ask again; for those that are not answered there is none.
 */
export const claimSlots = (
  tx: Tx,
  asked: readonly SlotAsked[],
  { leaseUntil, slotsMax }: { leaseUntil: Date; slotsMax: number },
): Promise<{ token: string; is_taken: boolean }[]> =>
  tx.many(prepared`
    with asked as (
      select token, key_id, row_number() over (partition by key_id order by n) as ordinal
      from unnest(${bareArray(asked.map(({ token }) => token))}::uuid[],
        ${bareArray(asked.map(({ keyId }) => keyId))}::uuid[]) with ordinality as asked (token, key_id, n)
    ), free as (
      select key_id, numbers.n, row_number() over (partition by key_id order by numbers.n) as ordinal
      from (select distinct key_id from asked) keys cross join generate_series(1, ${slotsMax}::int) as numbers (n)
      where not exists (
        select from stream_slots slot
        where slot.key_id = keys.key_id and slot.n = numbers.n and slot.lease_until > ${tx.now})
    ), chosen as materialized (
      select key_id, n, token from asked join free using (key_id, ordinal)
    ), taken as (
      insert into stream_slots (key_id, n, lease_token, lease_until)
      select key_id, n, token, ${leaseUntil} from chosen order by key_id, n
      on conflict (key_id, n) do update set lease_token = excluded.lease_token, lease_until = excluded.lease_until
        where stream_slots.lease_until <= ${tx.now}
      returning lease_token
    )
    select token, token in (select lease_token from taken) as is_taken from chosen`)

/** Answers the leases that are still there. */
export const updateSlotsLeased = (tx: Tx, leased: readonly SlotAsked[], leaseUntil: Date) =>
  tx.many<{ lease_token: string }>(prepared`
    update stream_slots set lease_until = ${leaseUntil}
    where key_id = any(${bareArray(leased.map(({ keyId }) => keyId))}::uuid[])
      and lease_token = any(${bareArray(leased.map(({ token }) => token))}::uuid[])
    returning lease_token`)

export const deleteSlots = (tx: Tx, ended: readonly SlotAsked[]): Promise<number> =>
  tx.run(prepared`
    delete from stream_slots
    where key_id = any(${bareArray(ended.map(({ keyId }) => keyId))}::uuid[])
      and lease_token = any(${bareArray(ended.map(({ token }) => token))}::uuid[])`)

/** Left by processes that died. */
export const deleteLapsedSlots = (tx: Tx, before: Date): Promise<number> =>
  tx.run(sql`delete from stream_slots where lease_until < ${before}`)

/** Inboxes that are no more, of whose events the journal still keeps the floor. */
export async function listInboxesGone(tx: Tx, limit: number): Promise<string[]> {
  const rows = await tx.many<{ inbox_id: string }>(sql`
    select inbox_id from event_floors floor
    where not exists (select from inboxes where inboxes.id = floor.inbox_id) limit ${limit}`)
  return rows.map(row => row.inbox_id)
}
