// All SQL over connections and the states of OAuth flows; this folder is the only writer of those tables.
import type { Db, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import type { ProviderName } from './providers.ts'

interface StateRow extends Omit<ConnectionOwner, 'address'> {
  id: string
  /** Sealed. */
  content: Buffer
  expires_at: Date
}

/** Of one inbox: who clicks more often than this gets along with the last ones. */
const STATES_PER_INBOX_MAX = 10
const FORGOTTEN_AT_ONCE = 100

export async function insertState(tx: Tx, state: StateRow): Promise<void> {
  await tx.run(sql`
    delete from connect_states where id in (
      select id from connect_states where expires_at < ${tx.now} order by expires_at limit ${FORGOTTEN_AT_ONCE})`)
  await tx.run(sql`
    delete from connect_states where id in (
      select id from connect_states where inbox_id = ${state.inbox_id} order by expires_at desc
      offset ${STATES_PER_INBOX_MAX - 1})`)
  await tx.run(sql`
    insert into connect_states (id, account_id, tenant_id, inbox_id, provider, content, expires_at)
    values (${state.id}, ${state.account_id}, ${state.tenant_id}, ${state.inbox_id}, ${state.provider}, ${state.content},
      ${state.expires_at})`)
}

/** Once: null when it was taken before, or is too old. */
export const takeState = (tx: Tx, id: string): Promise<StateRow | null> =>
  tx.maybe<StateRow>(sql`
    delete from connect_states where id = ${id} and expires_at > ${tx.now}
    returning id, account_id, tenant_id, inbox_id, provider, content, expires_at`)

/** Which mailbox it is, and whose. */
export interface ConnectionOwner {
  inbox_id: string
  account_id: string
  tenant_id: string
  provider: ProviderName
  address: string
}

export interface ConnectionRow extends ConnectionOwner {
  /** Sealed. Null: the grant is gone. */
  refresh_token: Buffer | null
  access_token: Buffer | null
  access_expires_at: Date | null
  state: 'syncing' | 'live' | 'failing' | 'reconnect_required'
  generation: number
  refresh_lease: string | null
  refresh_until: Date | null
}

const columns = sql`inbox_id, account_id, tenant_id, provider, address, refresh_token, access_token, access_expires_at, state,
  generation, refresh_lease, refresh_until`

/** Of an inbox that its caller found within its reach, or that the service itself works for. */
export const findConnection = (db: Db, inboxId: string): Promise<ConnectionRow | null> =>
  db.maybe<ConnectionRow>(sql`select ${columns} from connections where inbox_id = ${inboxId}`)

/** The inbox is locked. */
export const findConnectionForUpdate = (tx: Tx, inboxId: string): Promise<ConnectionRow | null> =>
  tx.maybe<ConnectionRow>(sql`select ${columns} from connections where inbox_id = ${inboxId} for update`)

type NewConnection = Omit<ConnectionRow, 'state' | 'refresh_lease' | 'refresh_until'>

/** Higher than any before, also than that of a connection which was deleted. */
export const nextGeneration = (tx: Tx): Promise<number> =>
  tx.value<number>(sql`select nextval('connection_generations')::int`)

/** For the same mailbox a new grant goes on where the last one ended. Work that began under that records nothing. */
export async function upsertConnection(tx: Tx, row: NewConnection): Promise<void> {
  await tx.run(sql`
    insert into connections as c (inbox_id, account_id, tenant_id, provider, address, refresh_token, access_token,
      access_expires_at, state, generation, connected_at, due_at)
    values (${row.inbox_id}, ${row.account_id}, ${row.tenant_id}, ${row.provider}, ${row.address}, ${row.refresh_token},
      ${row.access_token}, ${row.access_expires_at}, 'syncing', ${row.generation}, ${tx.now}, ${tx.now})
    on conflict (inbox_id) do update set refresh_token = excluded.refresh_token, access_token = excluded.access_token,
      access_expires_at = excluded.access_expires_at, state = 'syncing', error = null, generation = excluded.generation,
      connected_at = excluded.connected_at, due_at = excluded.due_at, attempts = 0, refusals = 0,
      lease_token = null,
      refresh_lease = null, refresh_until = null`)
}

export async function deleteConnectionRow(tx: Tx, inboxId: string): Promise<void> {
  await tx.run(sql`delete from connections where inbox_id = ${inboxId}`)
}

/** Providers end all grants of a mailbox to us when one is revoked. */
export const isConnected = (db: Db, { provider, address }: Pick<ConnectionRow, 'provider' | 'address'>) =>
  db.value<boolean>(sql`
    select exists (select from connections where provider = ${provider} and address = ${address}
      and refresh_token is not null)`)

/**
 * With the refresh token of now. Null when somebody else refreshes, has just done so, or was told to wait. `freshUntil`: a
 * token that is good until after this makes a refresh needless.
 */
export const claimRefresh = (
  tx: Tx,
  { inbox_id, generation }: ConnectionRow,
  { freshUntil, lease, until }: { freshUntil: Date; lease: string; until: Date },
) =>
  tx.maybe<ConnectionRow>(sql`
    update connections set refresh_lease = ${lease}, refresh_until = ${until}
    where inbox_id = ${inbox_id} and generation = ${generation} and refresh_token is not null
      and (access_token is null or access_expires_at <= ${freshUntil})
      and (refresh_until is null or refresh_until <= ${tx.now})
    returning ${columns}`)

interface Refreshed {
  /** Null: as it was. */
  refreshToken: Buffer | null
  accessToken: Buffer
  expiresAt: Date
}

/**
 * Also where the lease has lapsed while the database was away. The provider was asked with the refresh token of the row:
 * false when there is a newer one, or a newer grant.
 */
export const updateRefreshed = async (
  tx: Tx,
  { inbox_id, generation, refresh_token }: ConnectionRow,
  { refreshToken, accessToken, expiresAt }: Refreshed,
): Promise<boolean> =>
  (await tx.run(sql`
    update connections set refresh_token = coalesce(${refreshToken}::bytea, refresh_token), access_token = ${accessToken},
      access_expires_at = ${expiresAt}, refresh_lease = null, refresh_until = null
    where inbox_id = ${inbox_id} and generation = ${generation} and refresh_token = ${refresh_token}`)) === 1

/** Nobody asks the provider before that time. */
export async function updateNotRefreshed(
  tx: Tx,
  { inboxId, lease, retryAt }: { inboxId: string; lease: string; retryAt: Date },
): Promise<void> {
  await tx.run(sql`
    update connections set refresh_lease = null, refresh_until = ${retryAt}
    where inbox_id = ${inboxId} and refresh_lease = ${lease}`)
}

/** Forgets a token that the provider refused: the next caller has it refreshed. */
export async function updateAccessTokenRefused(tx: Tx, { inbox_id, access_token }: ConnectionRow): Promise<void> {
  await tx.run(sql`
    update connections set access_token = null, access_expires_at = null
    where inbox_id = ${inbox_id} and access_token = ${access_token}`)
}
