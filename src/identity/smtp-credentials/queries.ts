// All SQL over SMTP credentials; the only writer of that table.
import type { Db, Tx } from '../../platform/db/database.ts'
import { all, prepared, sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { newestFirst, type TenantKeyset } from '../../platform/http/paging.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Scanned } from '../../platform/work/retention-scan.ts'
import { lockedUnlessOnHold } from '../accounts/legal-hold.ts'
import type { SmtpCredential } from './contract.ts'

type Row = RowOf<SmtpCredential, 'created_at' | 'rotated_at' | 'last_used_at'>

const columns = sql`id, tenant_id, username, allowed_cidrs, created_at, rotated_at, last_used_at`

interface NewCredential {
  id: string
  accountId: string
  tenantId: string
  username: string
  passwordHash: Buffer
  allowedCidrs: string[]
}

/** Null when the username is taken, by any account. */
export async function insertCredential(tx: Tx, credential: NewCredential): Promise<SmtpCredential | null> {
  const row = await tx.maybe<Row>(sql`
    insert into smtp_credentials (id, account_id, tenant_id, username, password_hash, allowed_cidrs, created_at)
    values (${credential.id}, ${credential.accountId}, ${credential.tenantId}, ${credential.username},
      ${credential.passwordHash}, ${credential.allowedCidrs}, ${tx.now})
    on conflict on constraint smtp_credentials_username do nothing
    returning ${columns}`)
  return row && withTimesAsText(row)
}

/** The credential, locked until the transaction ends. */
export async function requireCredentialForUpdate(tx: Tx, reach: Reach, id: string): Promise<SmtpCredential> {
  const row = await tx.maybe<Row>(sql`
    select ${columns} from smtp_credentials where id = ${id} and ${within(reach)} for update`)
  return withTimesAsText(row ?? missing('SMTP credential'))
}

export async function updateCredentialPassword(tx: Tx, id: string, passwordHash: Buffer): Promise<SmtpCredential> {
  const row = await tx.one<Row>(sql`
    update smtp_credentials set password_hash = ${passwordHash}, rotated_at = ${tx.now}
    where id = ${id} returning ${columns}`)
  return withTimesAsText(row)
}

export async function deleteCredentialRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`delete from smtp_credentials where id = ${id}`)
}

export async function listCredentials(db: Db, reach: Reach, { tenantId, ...page }: TenantKeyset) {
  const rows = await db.many<Row>(sql`
    select ${columns} from smtp_credentials ${newestFirst([within(reach), ofTenant(tenantId)], page)}`)
  return rows.map(withTimesAsText)
}

export const updateCredentialsLastUsed = (tx: Tx, uses: { id: string; at: Date }[]): Promise<number> =>
  tx.run(sql`
    update smtp_credentials set last_used_at = use.at
    from unnest(${uses.map(use => use.id)}::uuid[], ${uses.map(use => use.at)}::timestamptz[]) as use (id, at)
    where smtp_credentials.id = use.id and (last_used_at is null or last_used_at < use.at)`)

export interface CredentialToCheck {
  id: string
  account_id: string
  tenant_id: string
  username: string
  password_hash: Buffer
  allowed_cidrs: string[]
}

/** Before anybody is known, so it cannot be restricted to a reach. */
export const listCredentialsByUsernameAnywhere = (db: Db, usernames: readonly string[]): Promise<CredentialToCheck[]> =>
  db.many<CredentialToCheck>(prepared`
    select id, account_id, tenant_id, username, password_hash, allowed_cidrs
    from smtp_credentials where username = any(${usernames}::text[])`)

export interface CredentialAddress {
  credentialId: string
  accountId: string
  tenantId: string
  minute: Date
  address: string
}

export const insertCredentialAddresses = (tx: Tx, rows: readonly CredentialAddress[]): Promise<number> =>
  tx.run(prepared`
    insert into credential_addresses (credential_id, minute, address, account_id, tenant_id)
    select * from unnest(${rows.map(row => row.credentialId)}::uuid[], ${rows.map(row => row.minute)}::timestamptz[],
      ${rows.map(row => row.address)}::text[], ${rows.map(row => row.accountId)}::uuid[],
      ${rows.map(row => row.tenantId)}::uuid[])
    on conflict do nothing`)

export interface AddressKey {
  minute: string
  credential_id: string
  address: string
}

/** Looks at the next old ones, and deletes those of accounts that are not under legal hold. */
export const deleteCredentialAddresses = (
  tx: Tx,
  { before, after, limit }: { before: Date; after: AddressKey | null; limit: number },
): Promise<Scanned<AddressKey>> => {
  const isNext =
    after &&
    sql`minute >= ${after.minute} and (minute, credential_id, address)
      > (${after.minute}::timestamptz, ${after.credential_id}::uuid, ${after.address}::text)`
  return tx.one<Scanned<AddressKey>>(sql`
    with scanned as materialized (
      select minute, credential_id, address, account_id from credential_addresses
      where ${all([sql`minute < ${before}`, isNext])}
      order by minute, credential_id, address limit ${limit}
    ), free as materialized (${lockedUnlessOnHold(sql`select account_id from scanned`)}
    ), deleted as (
      delete from credential_addresses a using scanned s
      where a.credential_id = s.credential_id and a.minute = s.minute and a.address = s.address
        and s.account_id in (select id from free)
      returning 1
    )
    select (select count(*) from scanned) as scanned, (select count(*) from deleted) as deleted,
      (select json_build_object('minute', minute, 'credential_id', credential_id, 'address', address) from scanned
        order by minute desc, credential_id desc, address desc limit 1) as last`)
}
