// All SQL over the audit log. Entries themselves are written by the journal's append; seals and heads here.
import type { Db, Tx } from '../../platform/db/database.ts'
import { locks, takeLock } from '../../platform/db/locks.ts'
import { all, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import type { CanonicalFields } from '../../platform/journal/canonical-entry.ts'
import { within, type Reach } from '../../platform/principal.ts'
import type { AuditEntry } from './contract.ts'

export interface StoredEntry extends CanonicalFields {
  id: number
  mac: Buffer
  /** 1 or 2; see chain.ts. */
  macVersion: number
}

export interface Seal {
  entryId: number
  prevHash: Buffer
  hash: Buffer
  mac: Buffer
}

export interface Head {
  entryId: number
  hash: Buffer
  signature: Buffer
  signedAt: Date
}

/** Waits until no other process seals. */
export const lockSealing = (tx: Tx): Promise<void> => takeLock(tx, locks.auditSeal)

export const tryLockSealing = (tx: Tx): Promise<boolean> =>
  tx.value<boolean>(prepared`select pg_try_advisory_xact_lock(${locks.auditSeal})`)

export const findLastSeal = (db: Db): Promise<Seal | null> =>
  db.maybe<Seal>(prepared`
    select entry_id as "entryId", prev_hash as "prevHash", hash, mac from audit_seals order by entry_id desc limit 1`)

/** Texts exactly as stored: the hash is made over them. */
const canonicalColumns: Sql = sql`id, account_id as "accountId", tenant_id as "tenantId", actor_type as "actorType",
  actor_id as "actorId", actor_name as "actorName", ip, action, target_type as "targetType", target_id as "targetId",
  before::text as before, after::text as after, request_id as "requestId",
  (extract(epoch from created_at) * 1000000)::bigint::text as "createdAtMicros", mac,
  mac_version as "macVersion"`

/** The last one up to there. */
export const findEntryAtMost = (db: Db, id: number): Promise<StoredEntry | null> =>
  db.maybe<StoredEntry>(
    prepared`select ${canonicalColumns} from audit_entries where id <= ${id} order by id desc limit 1`,
  )

export const listEntriesAfter = (db: Db, { id, limit }: { id: number; limit: number }): Promise<StoredEntry[]> =>
  db.many<StoredEntry>(
    prepared`select ${canonicalColumns} from audit_entries where id > ${id} order by id limit ${limit}`,
  )

export const listEntriesBetween = (db: Db, range: { first: number; last: number }): Promise<StoredEntry[]> =>
  db.many<StoredEntry>(prepared`
    select ${canonicalColumns} from audit_entries where id between ${range.first} and ${range.last} order by id`)

export const listSealsBetween = (db: Db, range: { first: number; last: number }): Promise<Seal[]> =>
  db.many<Seal>(prepared`
    select entry_id as "entryId", prev_hash as "prevHash", hash, mac
    from audit_seals where entry_id between ${range.first} and ${range.last} order by entry_id`)

export const listSealHashes = (db: Db, ids: number[]): Promise<{ entryId: number; hash: Buffer }[]> =>
  db.many(prepared`select entry_id as "entryId", hash from audit_seals where entry_id = any(${ids})`)

export const findLastIds = (db: Db): Promise<{ entry: number; seal: number }> =>
  db.one(sql`
    select (select coalesce(max(id), 0) from audit_entries) as entry,
      (select coalesce(max(entry_id), 0) from audit_seals) as seal`)

export async function insertSeals(tx: Tx, seals: Seal[]): Promise<void> {
  await tx.run(prepared`
    insert into audit_seals (entry_id, prev_hash, hash, mac)
    select * from unnest(${seals.map(seal => seal.entryId)}::bigint[], ${seals.map(seal => seal.prevHash)}::bytea[],
      ${seals.map(seal => seal.hash)}::bytea[], ${seals.map(seal => seal.mac)}::bytea[])`)
}

/** Sealing again what lost its seal gives the same hash, so a head that is already there stays. */
export async function insertHead(tx: Tx, head: Head): Promise<void> {
  await tx.run(prepared`
    insert into audit_heads (entry_id, hash, signature, signed_at)
    values (${head.entryId}, ${head.hash}, ${head.signature}, ${head.signedAt})
    on conflict (entry_id) do nothing`)
}

export const listHeadsAfter = (db: Db, { id, limit }: { id: number; limit: number }): Promise<Head[]> =>
  db.many<Head>(sql`
    select entry_id as "entryId", hash, signature, signed_at as "signedAt"
    from audit_heads where entry_id > ${id} order by entry_id limit ${limit}`)

interface ListRow extends Omit<AuditEntry, 'created_at' | 'actor' | 'target'> {
  created_at: Date
  actor_type: string
  actor_id: string | null
  actor_name: string
  target_type: string
  target_id: string
}

export async function listEntries(
  db: Db,
  reach: Reach,
  { action, beforeId, limit }: { action: string | null; beforeId: number | null; limit: number },
): Promise<AuditEntry[]> {
  const rows = await db.many<ListRow>(sql`
    select id, account_id, tenant_id, actor_type, actor_id, actor_name, ip, action, target_type, target_id, before,
      after, request_id, created_at, encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash
    from audit_entries join audit_seals on entry_id = id
    where ${all([
      within(reach),
      action !== null && sql`action = ${action}`,
      beforeId !== null && sql`id < ${beforeId}`,
    ])}
    order by id desc limit ${limit}`)
  return rows.map(({ actor_type, actor_id, actor_name, target_type, target_id, created_at, ...row }) => ({
    ...row,
    actor: { type: actor_type, id: actor_id, name: actor_name },
    target: { type: target_type, id: target_id },
    created_at: created_at.toISOString(),
  }))
}
