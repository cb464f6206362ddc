// All SQL over inboxes; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import type { RowOf } from '../../platform/db/times.ts'
import { newestFirst, type TenantKeyset } from '../../platform/http/paging.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Connection, Inbox } from './inbox-schema.ts'
import type { PolicyPatch } from './policy.ts'

export interface StoredInbox extends Omit<RowOf<Inbox, 'created_at'>, 'policy'> {
  account_id: string
  policy: PolicyPatch
}

const connection = sql`(
  select json_build_object('address', c.address, 'state', c.state, 'last_sync_at', c.last_sync_at,
    'messages_synced', c.messages_synced, 'messages_total', c.messages_total, 'error', c.error)
  from connections c where c.inbox_id = inboxes.id) as connection`

const columns = sql`id, account_id, tenant_id, domain_id, address, local_part, display_name, status, policy, metadata,
  provider, ${connection}, created_at`

const reachable = (reach: Reach) => sql`deleted_at is null and ${within(reach, { inbox: sql`id` })}`

/** Null when another inbox has the address. */
export const insertInbox = (tx: Tx, inbox: Omit<StoredInbox, 'connection'>): Promise<StoredInbox | null> =>
  tx.maybe<StoredInbox>(sql`
    insert into inboxes (id, account_id, tenant_id, domain_id, address, local_part, display_name, status, policy,
      metadata, provider, created_at)
    values (${inbox.id}, ${inbox.account_id}, ${inbox.tenant_id}, ${inbox.domain_id}, ${inbox.address},
      ${inbox.local_part}, ${inbox.display_name}, ${inbox.status}, ${inbox.policy}, ${inbox.metadata},
      ${inbox.provider}, ${inbox.created_at})
    on conflict (address) where deleted_at is null and domain_id is not null do nothing
    returning ${columns}`)

/**
 * An inbox whose domain is verified no more does not keep its address from the tenant that has verified the name since. It
 * keeps its mail; it received none already.
 */
export async function updateInboxDetached(tx: Tx, address: string): Promise<void> {
  await tx.run(sql`
    update inboxes set domain_id = null
    where address = ${address} and deleted_at is null
      and domain_id in (select id from domains where verified_at is null)`)
}

/** The same for all inboxes of a name. */
export const updateInboxesDetached = (tx: Tx, name: string): Promise<number> =>
  tx.run(sql`
    update inboxes set domain_id = null
    where domain_id in (select id from domains where name = ${name} and verified_at is null)`)

/** Of several that lost one address the first has it again, unless an inbox has it by now. */
export const updateInboxesAttached = (tx: Tx, domain: { id: string; tenant_id: string; name: string }) =>
  tx.run(sql`
    update inboxes set domain_id = ${domain.id} where id in (
      select distinct on (lost.address) lost.id from inboxes lost
      where lost.tenant_id = ${domain.tenant_id} and lost.domain_id is null and lost.deleted_at is null
        and split_part(lost.address, '@', 2) = ${domain.name}
        and not exists (select from inboxes i
          where i.address = lost.address and i.domain_id is not null and i.deleted_at is null)
      order by lost.address, lost.id)`)

export const countInboxes = (db: Db, accountId: string): Promise<number> =>
  db.value<number>(sql`
    select count(*)::int from inboxes where account_id = ${accountId} and deleted_at is null`)

export const requireInbox = async (db: Db, reach: Reach, id: string): Promise<StoredInbox> =>
  (await db.maybe<StoredInbox>(prepared`
    select ${columns} from inboxes where id = ${id} and ${reachable(reach)}`)) ?? missing('inbox')

/** The first of this address, which only one inbox on a domain has. */
export const findInboxAt = (db: Db, reach: Reach, address: string): Promise<{ id: string } | null> =>
  db.maybe(prepared`
    select id from inboxes where address = ${address} and ${reachable(reach)} order by id limit 1`)

/** Of these inboxes, which their caller found within its reach, those that were not deleted since. */
export const listLiveInboxes = (db: Db, ids: readonly string[]): Promise<{ id: string }[]> =>
  db.many(prepared`select id from inboxes where id = any(${bareArray(ids)}::uuid[]) and deleted_at is null`)

/** For a look-up that several callers share; who may see which is decided by `isWithin`. */
export const listInboxesByIdAnywhere = (db: Db, ids: readonly string[]): Promise<StoredInbox[]> =>
  db.many<StoredInbox>(prepared`
    select ${columns} from inboxes where id = any(${bareArray(ids)}::uuid[]) and deleted_at is null`)

/** Finds and locks: see lock.ts. */
export const requireInboxForUpdate = async (tx: Tx, reach: Reach, id: string): Promise<StoredInbox> =>
  (await tx.maybe<StoredInbox>(prepared`
    select ${columns} from inboxes where id = ${id} and ${reachable(reach)} for no key update`)) ?? missing('inbox')

export type LockedRow = Pick<
  StoredInbox,
  'id' | 'account_id' | 'tenant_id' | 'address' | 'status' | 'policy' | 'provider'
> & {
  connection: Pick<Connection, 'address'> | null
}

const lockedColumns = sql`id, account_id, tenant_id, address, status, policy, provider,
  (select json_build_object('address', c.address) from connections c where c.inbox_id = inboxes.id) as connection`

/** Rows whose ids their caller found within its reach. */
export const listInboxesForUpdate = (tx: Tx, ids: readonly string[]): Promise<LockedRow[]> =>
  tx.many<LockedRow>(prepared`
    select ${lockedColumns} from inboxes
    where id = any(${bareArray(ids)}::uuid[]) and deleted_at is null
    order by id for no key update`)

/** The same, without rows that another transaction has locked. */
export const listFreeInboxesForUpdate = (tx: Tx, ids: readonly string[]): Promise<LockedRow[]> =>
  tx.many<LockedRow>(prepared`
    select ${lockedColumns} from inboxes
    where id = any(${bareArray(ids)}::uuid[]) and deleted_at is null
    order by id for no key update skip locked`)

/** Locks the rows that are free; answers the others. */
export const listBusyInboxes = (tx: Tx, ids: readonly string[]): Promise<{ id: string }[]> =>
  tx.many<{ id: string }>(prepared`
    with free as materialized (
      select id from inboxes where id = any(${bareArray(ids)}::uuid[]) order by id for no key update skip locked
    )
    select id from inboxes where id = any(${bareArray(ids)}::uuid[]) and id not in (select id from free)`)

export const listInboxes = (db: Reads, reach: Reach, { tenantId, ...page }: TenantKeyset): Promise<StoredInbox[]> =>
  db.many<StoredInbox>(sql`
    select ${columns} from inboxes ${newestFirst([reachable(reach), ofTenant(tenantId)], page)}`)

export const updateInboxRow = (tx: Tx, inbox: StoredInbox): Promise<StoredInbox> =>
  tx.one<StoredInbox>(sql`
    update inboxes set display_name = ${inbox.display_name}, status = ${inbox.status}, policy = ${inbox.policy},
      metadata = ${inbox.metadata}
    where id = ${inbox.id} returning ${columns}`)

/** The inbox is locked. Answers it with its connection as the transaction has left it. */
export const updateInboxProvider = (tx: Tx, id: string, provider: StoredInbox['provider']): Promise<StoredInbox> =>
  tx.one<StoredInbox>(sql`update inboxes set provider = ${provider} where id = ${id} returning ${columns}`)

export async function updateInboxDeleted(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update inboxes set deleted_at = ${tx.now} where id = ${id}`)
}

export interface InboxToRemove {
  id: string
  account_id: string
}

/**
 * The first of each account, then the second of each; deleted the longest ago first. Those of accounts under legal hold are
 * left out.
 */
export const listInboxesToRemoveAnywhere = (db: Db, { limit, except }: { limit: number; except: readonly string[] }) =>
  db.many<InboxToRemove>(sql`
    select i.id, i.account_id from inboxes i join accounts a on a.id = i.account_id
    where i.deleted_at is not null and not a.legal_hold and i.id <> all(${except}::uuid[])
    order by row_number() over (partition by i.account_id order by i.deleted_at), i.deleted_at limit ${limit}`)

/** Waits for its lock: passed over because somebody is ending what it did there, it would stay until the next poll. */
export const lockInboxToRemove = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.maybe(sql`select id from inboxes where id = ${id} and deleted_at is not null for update`)) !== null

export async function deleteInboxRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`delete from inboxes where id = ${id}`)
}
