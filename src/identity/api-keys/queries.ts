// All SQL over API keys; the only writer of that table.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared, sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { newestFirst, type TenantKeyset } from '../../platform/http/paging.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { ApiKey } from './key-schema.ts'

type Row = RowOf<Omit<ApiKey, 'level'>, 'expires_at' | 'created_at' | 'rotated_at' | 'last_used_at'>

const columns = sql`id, name, prefix, scopes, tenant_id, inbox_id, allowed_cidrs, expires_at, created_at,
  rotated_at, last_used_at`

const toKey = (row: Row): ApiKey => ({
  ...withTimesAsText(row),
  level: row.inbox_id ? 'inbox' : row.tenant_id ? 'tenant' : 'account',
})

export interface NewKey {
  id: string
  accountId: string
  tenantId: string | null
  inboxId: string | null
  name: string
  prefix: string
  secretHash: Buffer
  scopes: string[]
  allowedCidrs: string[]
  expiresAt: Date | null
}

export async function insertKey(tx: Tx, key: NewKey): Promise<ApiKey> {
  const row = await tx.one<Row>(sql`
    insert into api_keys (id, account_id, tenant_id, inbox_id, name, prefix, secret_hash, scopes, allowed_cidrs,
      expires_at, created_at)
    values (${key.id}, ${key.accountId}, ${key.tenantId}, ${key.inboxId}, ${key.name}, ${key.prefix}, ${key.secretHash},
      ${key.scopes}, ${key.allowedCidrs}, ${key.expiresAt}, ${tx.now})
    returning ${columns}`)
  return toKey(row)
}

/** The key, locked until the transaction ends. */
export async function requireKeyForUpdate(tx: Tx, reach: Reach, id: string): Promise<ApiKey> {
  const row = await tx.maybe<Row>(sql`
    select ${columns} from api_keys where id = ${id} and revoked_at is null and ${within(reach)} for update`)
  return toKey(row ?? missing('API key'))
}

export async function updateKeySecret(tx: Tx, id: string, secret: { prefix: string; secretHash: Buffer }) {
  const row = await tx.one<Row>(sql`
    update api_keys set prefix = ${secret.prefix}, secret_hash = ${secret.secretHash}, rotated_at = ${tx.now}
    where id = ${id} returning ${columns}`)
  return toKey(row)
}

export async function updateKeyRevoked(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`update api_keys set revoked_at = ${tx.now} where id = ${id}`)
}

export const updateKeysOfInboxRevoked = (tx: Tx, inboxId: string): Promise<{ id: string }[]> =>
  tx.many<{ id: string }>(sql`
    update api_keys set revoked_at = ${tx.now} where inbox_id = ${inboxId} and revoked_at is null returning id`)

export async function deleteKeysOfInbox(tx: Tx, inboxId: string): Promise<void> {
  await tx.run(sql`delete from api_keys where inbox_id = ${inboxId}`)
}

export const updateKeysLastUsed = (tx: Tx, uses: { id: string; at: Date }[]): Promise<number> =>
  tx.run(sql`
    update api_keys set last_used_at = use.at
    from unnest(${uses.map(use => use.id)}::uuid[], ${uses.map(use => use.at)}::timestamptz[]) as use (id, at)
    where api_keys.id = use.id and (last_used_at is null or last_used_at < use.at)`)

/** Of these keys, those that still open doors, with the secret that does. */
export const listLiveKeys = (db: Db, { ids, now }: { ids: readonly string[]; now: Date }) =>
  db.many<{ id: string; prefix: string }>(prepared`
    select id, prefix from api_keys
    where id = any(${bareArray(ids)}::uuid[]) and revoked_at is null and (expires_at is null or expires_at > ${now})`)

export async function listKeys(db: Db, reach: Reach, { tenantId, ...page }: TenantKeyset): Promise<ApiKey[]> {
  const rows = await db.many<Row>(sql`
    select ${columns} from api_keys
    ${newestFirst([within(reach), sql`revoked_at is null`, ofTenant(tenantId)], page)}`)
  return rows.map(toKey)
}

/** The tenant that a reachable inbox belongs to. Locked: it cannot be deleted before its new key is there to be revoked. */
export const requireInboxTenant = async (tx: Tx, reach: Reach, inboxId: string): Promise<string> =>
  (await tx.maybeValue<string>(sql`
    select tenant_id from inboxes
    where id = ${inboxId} and deleted_at is null and ${within(reach)} for share`)) ?? missing('inbox')
