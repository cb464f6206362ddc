// The SQL of MTA-STS policies that are enforced.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'

interface StsRow {
  domain: string
  policy_id: string
  mx: readonly string[]
  max_age_seconds: number
  until: Date
}

/** Of all tenants: a policy is the domain's word to everybody. */
export const findStsPolicy = (db: Db, domain: string, now: Date): Promise<StsRow | null> =>
  db.maybe<StsRow>(prepared`
    select domain, policy_id, mx, max_age_seconds, until from mta_sts_policies
    where domain = ${domain} and until > ${now}`)

/** Nothing beyond `rowsMax`: what is known is not given up for what somebody else has just published. */
export const upsertStsPolicy = (tx: Tx, row: StsRow, rowsMax: number): Promise<number> =>
  tx.run(sql`
    insert into mta_sts_policies (domain, policy_id, mx, max_age_seconds, until)
    select ${row.domain}, ${row.policy_id}, ${[...row.mx]}::text[], ${row.max_age_seconds}, ${row.until}
    where (select count(*) from (select from mta_sts_policies limit ${rowsMax}) kept) < ${rowsMax}
      or exists (select from mta_sts_policies where domain = ${row.domain})
    on conflict (domain) do update set policy_id = excluded.policy_id, mx = excluded.mx,
      max_age_seconds = excluded.max_age_seconds, until = excluded.until`)

export const deleteStsPolicy = (tx: Tx, domain: string): Promise<number> =>
  tx.run(sql`delete from mta_sts_policies where domain = ${domain}`)

export const deleteLapsedStsPolicies = (tx: Tx, limit: number): Promise<number> =>
  tx.run(sql`
    delete from mta_sts_policies where until <= ${tx.now} and domain in (
      select domain from mta_sts_policies where until <= ${tx.now} limit ${limit})`)
