// What a firing rule shows to people: a few of the events behind it and where their recipients are. Reads bounded
// history: the last events of the tenant, however many it has.
import type { Db } from '../../platform/db/database.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { LOGIN_ROWS_MAX } from './login-queries.ts'
import type { Metric } from './metric.ts'
import { type Rule, type Scope } from './rule.ts'
import { NO_TENANT } from '../metrics/counters.ts'
import type { Period } from './sums-queries.ts'

const EVENTS_MAX = 10_000
const SAMPLE_MAX = 5
const DOMAINS_MAX = 5
const ADDRESSES_MAX = 20

interface SampleEvent {
  event_id: number
  type: string
  message_id: string | null
  recipient: string | null
  response: string | null
  ip?: string
}

interface Evidence {
  sample: SampleEvent[]
  top_recipient_domains: { domain: string; count: number }[]
  /** Of distinct_ips: where the logins came from. */
  addresses?: string[]
}

export async function findEvidence(db: Db, rule: Rule, scope: Scope, period: Period): Promise<Evidence> {
  if (rule.metric === 'distinct_ips') {
    return { sample: [], top_recipient_domains: [], addresses: await listAddresses(db, scope, period) }
  }
  const { sample, domains } = await db.one<{
    sample: SampleEvent[] | null
    domains: Evidence['top_recipient_domains'] | null
  }>(
    sql`
    with recent as materialized (
      select id, type, message_id, recipient, created_at, data from events
      where ${owner(scope)} and inbox_id is null order by id desc limit ${EVENTS_MAX}
    ), failing as materialized (
      select e.id, e.type, e.message_id, e.recipient, e.data from recent e
      where e.created_at >= ${period.from} and ${typesOf(rule.metric)} and ${isAbout(scope)}
        and e.data ->> 'shared' is null
    )
    select
      (select json_agg(s) from (
        select id as event_id, type, message_id, recipient, data ->> 'response' as response, data ->> 'ip' as ip
        from failing order by id desc limit ${SAMPLE_MAX}) s) as sample,
      (select json_agg(d) from (
        select lower(split_part(recipient, '@', -1)) as domain, count(*) as count
        from failing where recipient is not null group by 1 order by 2 desc, 1 limit ${DOMAINS_MAX}) d) as domains`,
  )
  return { sample: (sample ?? []).map(withoutAbsent), top_recipient_domains: domains ?? [] }
}

const withoutAbsent = ({ ip, ...event }: SampleEvent): SampleEvent => (ip ? { ...event, ip } : event)

const owner = ({ account_id, tenant_id }: Scope): Sql =>
  tenant_id === NO_TENANT ? sql`account_id = ${account_id}` : sql`tenant_id = ${tenant_id}`

function typesOf(metric: Metric): Sql {
  switch (metric) {
    case 'hard_bounce_rate':
    case 'hard_bounces':
      return sql`e.type = 'bounced' and e.data ->> 'bounce_type' = 'hard'`
    case 'soft_bounce_rate':
      return sql`e.type = 'bounced' and e.data ->> 'bounce_type' is distinct from 'hard'`
    case 'bounce_rate':
      return sql`e.type = 'bounced'`
    case 'block_rate':
    case 'blocks':
      return sql`e.type = 'blocked'`
    case 'complaint_rate':
    case 'complaints':
      return sql`e.type = 'complained'`
    case 'deferral_rate':
    case 'deferrals':
      return sql`e.type = 'deferred'`
    case 'auth_failures':
      return sql`e.type = 'auth_failed'`
    case 'recipients':
    case 'distinct_ips':
      return sql`e.type = 'accepted'`
  }
}

/** Events name the message; the message names its sender and the door it came through. */
function isAbout({ scope_type, scope_value }: Scope): Sql {
  const message = (column: Sql): Sql =>
    sql`exists (select from messages m where m.id = e.message_id and ${column} = ${scope_value})`
  switch (scope_type) {
    case 'tenant':
      return sql`true`
    case 'domain':
      return message(sql`m.sender_domain`)
    case 'sender':
      // A scope's sender is in lower case; a message's is as it was written.
      return message(sql`lower(m.sender)`)
    case 'credential':
      return sql`(e.data ->> 'credential_id' = ${scope_value} or ${message(sql`m.credential_id::text`)})`
    case 'api_key':
      return sql`(e.data ->> 'api_key_id' = ${scope_value} or ${message(sql`m.api_key_id::text`)})`
  }
}

const listAddresses = async (db: Db, scope: Scope, period: Period): Promise<string[]> => {
  const column = scope.scope_type === 'credential' ? sql`credential_id` : sql`tenant_id`
  const rows = await db.many<{ address: string }>(sql`
    select distinct address from (
      select address from credential_addresses
      where ${column} = ${scope.scope_value}::uuid and minute >= ${period.from} and minute <= ${period.to}
      order by minute desc limit ${LOGIN_ROWS_MAX}) newest
    order by address limit ${ADDRESSES_MAX}`)
  return rows.map(row => row.address)
}

interface PauseManner {
  suspend_mode: 'hold' | 'reject'
  /** Whether other tenants may send mail of the scope. */
  is_shared: boolean
}

/** How the account pauses, and whose the scope is: a domain or sender may be anybody's, a key of the account is everybody's. */
export const findPauseManner = (db: Db, { account_id, scope_type, scope_value }: Scope): Promise<PauseManner> =>
  db.one<PauseManner>(sql`
    select suspend_mode, ${
      scope_type === 'api_key'
        ? sql`exists (
            select from api_keys k
            where k.id::text = ${scope_value} and k.account_id = ${account_id} and k.tenant_id is null)`
        : sql`${scope_type === 'domain' || scope_type === 'sender'}::boolean`
    } as is_shared
    from accounts where id = ${account_id}`)
