// All SQL over domains; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { newestFirst, type TenantKeyset } from '../../platform/http/paging.ts'
import { ofTenant, within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Checked } from './outcome.ts'
import type { StoredDomain } from './stored-domain.ts'

const columns = sql`domains.id, domains.account_id, domains.tenant_id, domains.name, domains.is_platform,
  domains.dkim_selector, domains.dkim_public_key, domains.findings, domains.checked_at, domains.verified_at,
  domains.mx_verified_at, domains.inbound_enabled, domains.failing_since, domains.created_at`

/** Null when the tenant has the name already. Raises `domains_verified` when it comes verified and somebody has it. */
export async function insertDomain(tx: Tx, domain: StoredDomain & { dkim_private_key: string }) {
  return tx.maybe<StoredDomain>(sql`
    insert into domains (id, account_id, tenant_id, name, is_platform, dkim_selector, dkim_public_key, dkim_private_key,
      findings, checked_at, verified_at, mx_verified_at, inbound_enabled, failing_since, created_at)
    values (${domain.id}, ${domain.account_id}, ${domain.tenant_id}, ${domain.name}, ${domain.is_platform},
      ${domain.dkim_selector}, ${domain.dkim_public_key}, ${domain.dkim_private_key}, ${domain.findings},
      ${domain.checked_at}, ${domain.verified_at}, ${domain.mx_verified_at}, ${domain.inbound_enabled},
      ${domain.failing_since}, ${domain.created_at})
    on conflict on constraint domains_name do nothing
    returning ${columns}`)
}

export const requireDomain = async (db: Db, reach: Reach, id: string): Promise<StoredDomain> =>
  (await db.maybe<StoredDomain>(sql`select ${columns} from domains where id = ${id} and ${within(reach)}`)) ??
  missing('domain')

/** Finds and locks: no other transaction changes the domain until this one ends. */
export const requireDomainForUpdate = async (tx: Tx, reach: Reach, id: string): Promise<StoredDomain> =>
  (await tx.maybe<StoredDomain>(sql`
    select ${columns} from domains where id = ${id} and ${within(reach)} for update`)) ?? missing('domain')

/** Of a name that the installation publishes itself. */
export const findPlatformDomainAnywhere = (db: Db, name: string): Promise<StoredDomain | null> =>
  db.maybe<StoredDomain>(prepared`
    select ${columns} from domains where name = ${name} and is_platform and verified_at is not null`)

/** Of one name there is one at the most. */
export const findVerifiedDomainAnywhere = (db: Db, name: string): Promise<StoredDomain | null> =>
  db.maybe<StoredDomain>(prepared`select ${columns} from domains where name = ${name} and verified_at is not null`)

/** Finds and locks: readers of the row go on, nobody changes it until the transaction ends. */
export const requireDomainForShare = async (tx: Tx, reach: Reach, id: string): Promise<StoredDomain> =>
  (await tx.maybe<StoredDomain>(sql`
    select ${columns} from domains where id = ${id} and ${within(reach)} for share`)) ?? missing('domain')

export const listDomains = (db: Reads, reach: Reach, { tenantId, ...page }: TenantKeyset): Promise<StoredDomain[]> =>
  db.many<StoredDomain>(sql`
    select ${columns} from domains ${newestFirst([within(reach), ofTenant(tenantId)], page)}`)

/** Raises `domains_verified` when it becomes verified and somebody else's already is. */
export const updateDomainChecked = (tx: Tx, id: string, checked: Checked): Promise<StoredDomain> =>
  tx.one<StoredDomain>(sql`
    update domains set findings = ${checked.findings}, checked_at = ${tx.now}, verified_at = ${checked.verified_at},
      mx_verified_at = ${checked.mx_verified_at}, failing_since = ${checked.failing_since}
    where id = ${id} returning ${columns}`)

export const updateDomainInbound = (tx: Tx, id: string, isEnabled: boolean): Promise<StoredDomain> =>
  tx.one<StoredDomain>(sql`update domains set inbound_enabled = ${isEnabled} where id = ${id} returning ${columns}`)

export async function deleteDomainRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`delete from domains where id = ${id}`)
}

/** Verified domains not looked at since then, the longest ago first. Skips what another process is taking. */
export const claimDomainsToCheck = (tx: Tx, { checkedBefore, limit }: { checkedBefore: Date; limit: number }) =>
  tx.many<StoredDomain>(sql`
    with due as (
      select id from domains
      where verified_at is not null and not is_platform and checked_at < ${checkedBefore}
      order by checked_at
      limit ${limit}
      for update skip locked
    )
    update domains set checked_at = ${tx.now} from due where domains.id = due.id
    returning ${columns}`)

/** A verified domain, unless somebody deleted it or looked at it since: `checked_at` tells, and is the claim's token. */
export const findClaimedDomainAnywhere = (tx: Tx, { id, checked_at }: StoredDomain): Promise<StoredDomain | null> =>
  tx.maybe<StoredDomain>(sql`
    select ${columns} from domains
    where id = ${id} and checked_at = ${checked_at} and verified_at is not null for update`)

export interface SealedKey {
  id: string
  name: string
  selector: string
  sealed_key: string
  return_path_ok: boolean
}

/** For signing: the id comes from an accepted message, whose tenant was checked then. */
export const listSealedKeysAnywhere = (db: Db, ids: readonly string[]): Promise<SealedKey[]> =>
  db.many<SealedKey>(prepared`
    select id, name, dkim_selector as selector, dkim_private_key as sealed_key,
      not is_platform and findings #>> '{records,return_path,state}' is not distinct from 'ok' as return_path_ok
    from domains where id = any(${ids}::uuid[])`)

/** Whether another tenant has a name of the installation that this one lies under. */
export const findNameAboveAnywhere = async (tx: Tx, name: string, tenantId: string): Promise<boolean> => {
  const labels = name.split('.')
  const above = labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'))
  const found = await tx.maybe(sql`
    select 1 from domains where is_platform and name = any(${above}::text[]) and tenant_id <> ${tenantId} limit 1`)
  return found !== null
}

/** Whether another tenant has a name of the installation that lies under this one. */
export const findNameBelowAnywhere = async (tx: Tx, name: string, tenantId: string): Promise<boolean> => {
  const found = await tx.maybe(sql`
    select 1 from domains
    where is_platform and right(name, ${name.length + 1}) = ${`.${name}`} and tenant_id <> ${tenantId} limit 1`)
  return found !== null
}
