// The SQL of receiving: for whom mail is taken, what was acknowledged and is not filed yet, and what processes tell each
// other of who brings it.
import type { Db, Tx } from '../../platform/db/database.ts'
import { isLookedUpBy } from '../../platform/db/planner.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import { DueAccounts } from '../../platform/work/due-accounts.ts'
import type { Claim, Leased } from '../../platform/work/leased-work.ts'
import { counted, LeasedTable, leasing } from '../../platform/work/leased-table.ts'

export interface FoundRecipient {
  /** Null: the domain is ours, and has no inbox of that name. */
  inbox_id: string | null
  account_id: string
  status: string | null
}

/** In the same order; null where the domain takes no mail here. */
export async function findRecipients(
  db: Db,
  asked: readonly { local: string; domain: string }[],
): Promise<(FoundRecipient | null)[]> {
  const rows = await db.many<FoundRecipient & { n: number }>(prepared`
    select asked.n, i.id as inbox_id, d.account_id, i.status
    from unnest(${asked.map(each => each.local)}::text[], ${asked.map(each => each.domain)}::text[]) with ordinality
      as asked (local, domain, n)
    join domains d on d.name = asked.domain and d.verified_at is not null and d.inbound_enabled
    left join inboxes i on i.address = asked.local || '@' || asked.domain and i.domain_id = d.id and i.deleted_at is null`)
  const found: (FoundRecipient | null)[] = asked.map(() => null)
  for (const { n, ...row } of rows) found[n - 1] = row
  return found
}

/** Whether mail of the account has been due since before that time. */
export const isBehind = async (db: Db, accountId: string, since: Date): Promise<boolean> => {
  const found = await db.maybe(
    sql`select from arrivals where account_id = ${accountId} and due_at < ${since} order by due_at limit 1`,
  )
  return found !== null
}

/** Which of these take mail here. */
export const listInboundDomains = (db: Db, names: readonly string[]): Promise<{ name: string }[]> =>
  db.many(prepared`
    select name from domains where name = any(${names}::text[]) and verified_at is not null and inbound_enabled`)

export interface ArrivalRow {
  id: string
  account_id: string
  source_id: string
  size: number
  inbox_ids: readonly string[]
  mail_from: string
  client_ip: string
  helo: string
  submitted_id: string | null
}

export const insertArrivals = (tx: Tx, rows: readonly ArrivalRow[]): void =>
  tx.send(prepared`
    insert into arrivals (id, account_id, source_id, size, inbox_ids, mail_from, client_ip, helo, submitted_id, received_at,
      due_at)
    select id, account_id, source_id, size, inbox_ids, mail_from, client_ip, helo, submitted_id, ${tx.now}, ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as r (id uuid, account_id uuid, source_id uuid, size integer,
      inbox_ids uuid[], mail_from text, client_ip text, helo text, submitted_id uuid)`)

export interface Arrival extends ArrivalRow {
  received_at: Date
  attempts: number
  crashes: number
  /** When it was due before it was leased. */
  was_due_at: Date
}

export const arrivalLeases = new LeasedTable(sql`arrivals`, 'id')

export const dueAccounts = (): DueAccounts => new DueAccounts(sql`arrivals`)

/** The longest due of each account whose turn it is, leased to this worker. */
export async function claimArrivals(tx: Tx, claim: Claim<Arrival>, due: DueAccounts): Promise<Arrival[]> {
  const accounts = await due.next(tx, claim)
  if (accounts.length === 0) return []
  const limits = claim.limitsFor(accounts.map(accountId => ({ key: accountId, accountId })))
  // A lease that was still on the row has lapsed: its worker died with it.
  return tx.alongIndexes.many<Arrival>(prepared`
    with account as (
      select * from unnest(${bareArray(accounts)}::uuid[], ${bareArray(limits)}::int[]) as a (id, items_max) where items_max > 0
    ), due as (
      select oldest.id, oldest.due_at from account cross join lateral (
        select id, due_at from arrivals r where r.account_id = account.id and r.due_at <= ${tx.now}
        order by due_at limit account.items_max for update skip locked
      ) oldest
    )
    update arrivals a set ${leasing(claim)},
      crashes = case when a.lease_token is null then a.crashes else ${counted(sql`a.crashes`)} end
    from due where ${isLookedUpBy(sql`a.id`, sql`due.id`)}
    returning a.id, a.account_id, a.source_id, a.size, a.inbox_ids, a.mail_from, a.client_ip, a.helo, a.submitted_id,
      a.received_at, a.attempts, a.crashes, due.due_at as was_due_at`)
}

/** Filed by this transaction: gone where the lease is still ours, and only those are answered. */
export const deleteArrivals = (tx: Tx, leases: readonly Leased<Pick<Arrival, 'id'>>[]) =>
  tx.alongIndexes.many<{ id: string; lease_token: string }>(
    prepared`delete from arrivals t using ${arrivalLeases.ours(leases)} returning t.id, t.lease_token`,
  )

/** The sources of a claim that are small enough to hold many of. */
export const listSources = (db: Db, ids: readonly string[]) =>
  db.many<{ id: string; content: Buffer; head_bytes: number }>(
    prepared`select id, content, head_bytes from mail_sources where id = any(${ids}::uuid[])`,
  )

/** A part of a large source: the whole at once would hold the thread. */
export const findSourcePart = (db: Db, id: string, { start, bytes }: { start: number; bytes: number }) =>
  db.maybe<{ part: Buffer; head_bytes: number }>(prepared`
    select substring(content from ${start + 1}::integer for ${bytes}::integer) as part, head_bytes
    from mail_sources where id = ${id}`)

/** Adds what came, address by address in their order, and answers what all processes have told. */
export const addArrivalRates = (tx: Tx, minute: Date, told: readonly { network: string; untold: number }[]) =>
  tx.many<{ network: string; count: number }>(prepared`
    insert into arrival_rates as r (network, minute, count)
    select network, ${minute}, count from unnest(${told.map(each => each.network)}::text[],
      ${told.map(each => each.untold)}::integer[]) as told (network, count)
    on conflict (network, minute) do update set count = r.count + excluded.count
    returning network, count`)

export const deleteOldArrivalRates = (tx: Tx, before: Date): Promise<number> =>
  tx.run(prepared`delete from arrival_rates where minute < ${before}`)

export const upsertConnections = (tx: Tx, processId: string, told: readonly { network: string; count: number }[]) =>
  tx.run(prepared`
    insert into arrival_connections (process_id, network, count, told_at)
    select ${processId}, network, count, ${tx.now} from unnest(${told.map(each => each.network)}::text[],
      ${told.map(each => each.count)}::integer[]) as told (network, count)
    on conflict (network, process_id) do update set count = excluded.count, told_at = excluded.told_at`)

export const listConnectionsElsewhere = (
  db: Db,
  { processId, networks, since }: { processId: string; networks: readonly string[]; since: Date },
): Promise<{ network: string; count: number }[]> =>
  db.many(prepared`
    select network, sum(count)::int as count from arrival_connections
    where network = any(${networks}::text[]) and process_id <> ${processId} and told_at > ${since}
    group by network`)

export const deleteOldConnections = (tx: Tx, before: Date): Promise<number> =>
  tx.run(prepared`delete from arrival_connections where told_at < ${before}`)
