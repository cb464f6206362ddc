// The SQL over webhooks themselves. With attempt-queries and work-queries the only writer of their tables.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { within, type Reach } from '../../platform/principal.ts'
import { missing } from '../../platform/refusal.ts'
import type { Webhook } from './contract.ts'

type Row = RowOf<Webhook, 'failing_since' | 'rotated_at' | 'created_at'>

const columns = sql`id, tenant_id, url, event_types, status, disabled_reason, failing_since, rotated_at, created_at`

/** The newest id that was handed out. What commits after this statement has a greater one. */
const newestEventId = sql`(select case when is_called then last_value else 0 end from events_id_seq)`

interface NewWebhook {
  id: string
  accountId: string
  tenantId: string | null
  url: string
  eventTypes: string[]
  sealedSecret: string
}

/** Gets what happens from here on. */
export async function insertWebhook(tx: Tx, webhook: NewWebhook): Promise<Webhook> {
  const row = await tx.one<Row>(sql`
    with made as (
      insert into webhooks (id, account_id, tenant_id, url, event_types, secret, after_event_id, created_at)
      values (${webhook.id}, ${webhook.accountId}, ${webhook.tenantId}, ${webhook.url}, ${webhook.eventTypes},
        ${webhook.sealedSecret}, ${newestEventId}, ${tx.now})
      returning ${columns}
    ), due as (insert into webhook_due (webhook_id) select id from made)
    select ${columns} from made`)
  return withTimesAsText(row)
}

export const countWebhooks = (tx: Tx, accountId: string): Promise<number> =>
  tx.value<number>(sql`select count(*) from webhooks where account_id = ${accountId}`)

export async function listWebhooks(db: Reads, reach: Reach, page: Keyset<string>): Promise<Webhook[]> {
  const rows = await db.many<Row>(sql`select ${columns} from webhooks ${newestFirst([within(reach)], page)}`)
  return rows.map(withTimesAsText)
}

export async function requireWebhook(db: Db, reach: Reach, id: string): Promise<Webhook> {
  const row = await db.maybe<Row>(sql`select ${columns} from webhooks where id = ${id} and ${within(reach)}`)
  return withTimesAsText(row ?? missing('webhook'))
}

/** Finds and locks: no other transaction changes it until this one ends. */
export async function requireWebhookForUpdate(tx: Tx, reach: Reach, id: string): Promise<Webhook> {
  const row = await tx.maybe<Row>(sql`select ${columns} from webhooks where id = ${id} and ${within(reach)} for update`)
  return withTimesAsText(row ?? missing('webhook'))
}

/** What happened until now is still its; it is tried when the webhook is enabled again. */
export const disableWebhook = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update webhooks set status = 'disabled', until_event_id = ${newestEventId} where id = ${id}`)

/**
 * Goes on with what is queued, and with the events from here on. When the account's fan-out has not come as far as where
 * the webhook was disabled, it begins where it would have: some events too many are better than some that are lost.
 */
export const enableWebhook = (tx: Tx, { id, tail }: { id: string; tail: string }): Promise<number> =>
  tx.run(sql`
    with enabled as (
      update webhooks set status = 'active', disabled_reason = null, failing_since = null, failed_days = 0,
        failed_day_at = null, until_event_id = null,
        after_event_id = case when until_event_id > coalesce(
            (select cursor from webhook_backlogs b where b.account_id = webhooks.account_id),
            (select cursor from tails where name = ${tail}))
          then after_event_id else ${newestEventId} end
      where id = ${id}
      returning id
    )
    update webhook_due l set due_at = ${tx.now} from enabled where l.webhook_id = enabled.id`)

export const deleteWebhookRow = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`
    with gone as (delete from webhooks where id = ${id} returning id)
    insert into webhook_removals (webhook_id) select id from gone on conflict do nothing`)

/** Beside the new and the old one: who rotates more often in a day is testing. */
const OLDER_SECRETS_MAX = 20

export async function updateSecret(
  tx: Tx,
  id: string,
  { sealedSecret, oldUntil }: { sealedSecret: string; oldUntil: Date },
): Promise<Webhook> {
  const row = await tx.one<Row>(sql`
    update webhooks set
      older_secrets = (
        select coalesce(jsonb_agg(older order by older ->> 'until' desc), '[]')
        from (
          select older from jsonb_array_elements(
            jsonb_build_array(jsonb_build_object('secret', old_secret, 'until', old_secret_until)) || older_secrets) older
          where (older ->> 'until')::timestamptz > ${tx.now}
          order by older ->> 'until' desc limit ${OLDER_SECRETS_MAX}
        ) kept),
      old_secret = secret, old_secret_until = ${oldUntil}, secret = ${sealedSecret}, rotated_at = ${tx.now}
    where id = ${id} returning ${columns}`)
  return withTimesAsText(row)
}

export interface Endpoint {
  id: string
  account_id: string
  tenant_id: string | null
  url: string
  secret: string
  old_secret: string | null
  old_secret_until: Date | null
  older_secrets: { secret: string; until: string }[]
}

const endpointColumns = sql`id, account_id, tenant_id, url, secret, old_secret, old_secret_until, older_secrets`

/** With what is needed to push to it. */
export const requireEndpoint = async (db: Db, reach: Reach, id: string): Promise<Endpoint> =>
  (await db.maybe<Endpoint>(sql`
    select ${endpointColumns} from webhooks where id = ${id} and ${within(reach)}`)) ?? missing('webhook')

/** Those of them that are active. For the messenger, which works for everybody. */
export const listActiveEndpointsAnywhere = (db: Db, ids: readonly string[]): Promise<Endpoint[]> =>
  db.many<Endpoint>(sql`
    select ${endpointColumns} from webhooks where id = any(${ids}::uuid[]) and status = 'active'`)

const DAY_MS = 86_400_000

/**
 * Notes who began to fail, or fails on one more day, and who succeeded again; a row is touched only when that changes. A day is
 * counted by a failure that is a day later than the one counted before.
 */
export const updateFailing = (
  tx: Tx,
  { failed, succeeded }: { failed: readonly string[]; succeeded: readonly string[] },
): Promise<number> =>
  tx.run(sql`
    update webhooks set
      failing_since = case when id = any(${failed}::uuid[]) then coalesce(failing_since, ${tx.now}) end,
      failed_days = case when id = any(${failed}::uuid[]) then failed_days + 1 else 0 end,
      failed_day_at = case when id = any(${failed}::uuid[]) then ${tx.now}::timestamptz end
    where (id = any(${failed}::uuid[])
        and (failed_day_at is null or failed_day_at <= ${new Date(tx.now.getTime() - DAY_MS)}))
      or (id = any(${succeeded}::uuid[]) and (failing_since is not null or failed_days > 0))`)

/** Disables those that are active and answered 410, or have failed on so many days. */
export const disableHopeless = (
  tx: Tx,
  { gone, failed, failedDays }: { gone: readonly string[]; failed: readonly string[]; failedDays: number },
): Promise<(Endpoint & { disabled_reason: 'gone' | 'failing'; failing_since: Date | null })[]> =>
  tx.many(sql`
    update webhooks
    set status = 'disabled', until_event_id = ${newestEventId},
      disabled_reason = case when id = any(${gone}::uuid[]) then 'gone' else 'failing' end
    where status = 'active'
      and (id = any(${gone}::uuid[]) or (id = any(${failed}::uuid[]) and failed_days >= ${failedDays}))
    returning ${endpointColumns}, disabled_reason, failing_since`)
