// Reading usage; acceptance writes it. Sums are numeric in the database and texts on their way here: exact at any size.
import type { Reads } from '../../platform/db/database.ts'
import { all, bareArray, sql, type Sql } from '../../platform/db/sql.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { rateCards } from '../assignments/effective.ts'
import type { Month } from './month.ts'

interface Used {
  recipients: string
  messages: string
}

const sums = sql`coalesce(sum(recipients), 0)::text as recipients, coalesce(sum(messages), 0)::text as messages`

const inMonth = ({ first, last }: Month): Sql => sql`day between ${first}::date and ${last}::date`

export const listDayTotals = (db: Reads, reach: Reach, month: Month): Promise<(Used & { date: string })[]> =>
  db.many(sql`
    select day as date, ${sums} from usage_days
    where ${within(reach)} and ${inMonth(month)} group by day order by day`)

export interface TenantTotal extends Used {
  tenant_id: string
}

interface MonthKeyset extends Keyset<string> {
  month: Month
}

export const listTenantTotals = (db: Reads, reach: Reach, { month, after, limit }: MonthKeyset) =>
  db.many<TenantTotal>(sql`
    select tenant_id, ${sums} from usage_days
    where ${all([within(reach), inMonth(month), after !== null && sql`tenant_id > ${after}`])}
    group by tenant_id order by tenant_id limit ${limit}`)

export interface UsedCard {
  tenant_id: string
  plan_id: string
  recipients: string
}

/**
 * The rate cards of a month with what their tenants sent, and before them one row with what all tenants sent, in one scan of
 * the month. Read apart and joined here, 5,000 tenants took 58 instead of 36 ms of this process.
 */
export const listUsedCards = (
  db: Reads,
  reach: Reach,
  { month, after, limit }: MonthKeyset,
): Promise<[{ recipients: string }, ...UsedCard[]]> =>
  db.many(sql`
    with cards as materialized (${rateCards(reach, { day: month.last, after, limit })}),
      used as materialized (
        select tenant_id, sum(recipients) as recipients from usage_days
        where ${within(reach)} and ${inMonth(month)} group by tenant_id
      )
    select null::uuid as tenant_id, null::uuid as plan_id, coalesce(sum(recipients), 0)::text as recipients from used
    union all
    select tenant_id, plan_id, coalesce(recipients, 0)::text from cards left join used using (tenant_id)
    order by tenant_id nulls first`) as Promise<[{ recipients: string }, ...UsedCard[]]>

export interface UsageRow {
  date: string
  tenant_id: string
  external_id: string
  tenant_name: string
  recipients: string
  messages: string
}

/** In the order of the index: by day, then tenant. */
export const listUsageRows = (
  db: Reads,
  reach: Reach,
  { month, after, limit }: { month: Month; after: UsageRow | null; limit: number },
): Promise<UsageRow[]> =>
  db.many(sql`
    select u.day as date, u.tenant_id, t.external_id, t.name as tenant_name, u.recipients::text as recipients,
      u.messages::text as messages
    from (
      select day, tenant_id, recipients, messages from usage_days
      where ${all([
        within(reach),
        inMonth(month),
        after !== null && sql`(day, tenant_id) > (${after.date}::date, ${after.tenant_id}::uuid)`,
      ])}
      order by day, tenant_id limit ${limit}
    ) u
    join tenants t on t.id = u.tenant_id
    order by u.day, u.tenant_id`)

export const listBilledAccountsAnywhere = (db: Reads, page: Keyset<string>): Promise<{ id: string; name: string }[]> =>
  db.many(sql`select id, name from accounts ${newestFirst([], page)}`)

/** Accounts without mail are left out. */
export const listAccountTotalsAnywhere = (db: Reads, accountIds: readonly string[], month: Month) =>
  db.many<Used & { account_id: string }>(sql`
    select account_id, ${sums} from usage_days
    where account_id = any(${bareArray(accountIds)}::uuid[]) and ${inMonth(month)} group by account_id`)
