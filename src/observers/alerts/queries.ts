// All SQL over alerts and their contacts; the only writer of those tables.
import { deletable } from '../../identity/accounts/legal-hold.ts'
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import type { JournalEvent } from '../../platform/journal/read.ts'
import { within, type Reach } from '../../platform/principal.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { Alert, AlertContact } from './contract.ts'
import { openTarget, type StoredTarget } from './target.ts'

type AlertRow = RowOf<Alert, 'created_at' | 'acked_at'>

const alertColumns = sql`id, tenant_id, kind, severity, title, scope, rule_id, rule_name as rule, data, created_at,
  acked_at, acked_by`

export type TellableEvent = Pick<JournalEvent, 'type' | 'account_id' | 'tenant_id' | 'created_at' | 'data'>

/** Anomalies, and approvals of accounts that want them decided by links. */
export const listTellable = (db: Db, { after, upTo }: { after: number; upTo: number }): Promise<TellableEvent[]> =>
  db.many<TellableEvent>(prepared`
    select type, account_id, tenant_id, created_at, data from events e
    where id > ${after} and id <= ${upTo} and (type = 'anomaly_detected' or (type = 'approval.required'
      and exists (select from accounts a where a.id = e.account_id and a.approval_links)))
    order by id`)

export interface NewAlert {
  id: string
  account_id: string
  tenant_id: string | null
  kind: string
  severity: string
  title: string
  scope: string | null
  rule_id: string | null
  rule_name: string | null
  data: object
  created_at: Date
}

/** An event that was read before makes no second alert. Answers the ids of the new ones. */
export const insertAlerts = async (tx: Tx, alerts: readonly NewAlert[]): Promise<string[]> => {
  const rows = await tx.many<{ id: string }>(prepared`
    insert into alerts (id, account_id, tenant_id, kind, severity, title, scope, rule_id, rule_name, data, created_at)
    select id, account_id, tenant_id, kind, severity, title, scope, rule_id, rule_name, data, created_at
    from json_to_recordset(${JSON.stringify(alerts)}::json) as a (id uuid, account_id uuid, tenant_id uuid, kind text,
      severity text, title text, scope text, rule_id uuid, rule_name text, data jsonb, created_at timestamptz)
    on conflict (id) do nothing returning id`)
  return rows.map(row => row.id)
}

/** What may wait for one contact. An account may have a hundred of them, and a thousand alerts in a few minutes. */
const WAITING_PER_CONTACT_MAX = 1_000

/** A line for every contact of the alert's account that wants to hear of its severity: of very many the worst and newest. */
export async function insertNotifications(tx: Tx, alertIds: readonly string[]): Promise<void> {
  const contacts = await tx.many<{ contact_id: string }>(prepared`
    with fresh as (
      select id, account_id, severity, row_number() over (partition by account_id
        order by array_position(array['info', 'warning', 'critical'], severity) desc, id desc) as rank
      from alerts where id = any(${alertIds}::uuid[])
    ), inserted as (
      insert into alert_notifications (id, alert_id, contact_id, due_at, updated_at)
      select gen_random_uuid(), a.id, c.id, ${tx.now}, ${tx.now}
      from fresh a join alert_contacts c on c.account_id = a.account_id
      where a.rank <= ${WAITING_PER_CONTACT_MAX}
        and array_position(array['info', 'warning', 'critical'], c.min_severity)
          <= array_position(array['info', 'warning', 'critical'], a.severity)
      on conflict on constraint alert_notifications_once do nothing
      returning contact_id
    )
    select distinct contact_id from inserted`)
  if (contacts.length > 0) await updateTooManyDead(tx, contacts)
}

/** Gives up what is due longest of a contact for which too much waits. */
const updateTooManyDead = (tx: Tx, contacts: readonly { contact_id: string }[]): Promise<number> =>
  tx.run(prepared`
    update alert_notifications set status = 'dead', updated_at = ${tx.now},
      last_error = ${`More than ${WAITING_PER_CONTACT_MAX} alerts waited for this contact. The API lists them all.`}
    where id = any(array(
      select old.id from unnest(${contacts.map(each => each.contact_id)}::uuid[]) as c (id) cross join lateral (
        select n.id from alert_notifications n
        where n.contact_id = c.id and n.status = 'pending' and n.lease_token is null
        order by n.due_at desc, n.id desc offset ${WAITING_PER_CONTACT_MAX}
      ) old))`)

interface NewApproval {
  approvalId: string
  accountId: string
}

/** A line for every contact with a mail address; none for an account that has had its mails of this day. */
export const insertApprovalNotifications = (
  tx: Tx,
  approvals: readonly NewApproval[],
  { day, mailsMax }: { day: string; mailsMax: number },
): Promise<number> =>
  tx.run(prepared`
    insert into alert_notifications (id, approval_id, contact_id, due_at, updated_at)
    select gen_random_uuid(), a.id, c.id, ${tx.now}, ${tx.now}
    from unnest(${approvals.map(each => each.approvalId)}::uuid[], ${approvals.map(each => each.accountId)}::uuid[])
        as a (id, account_id)
      join alert_contacts c on c.account_id = a.account_id and c.channel = 'email'
    where not exists (select from alert_mail_days d
      where d.account_id = a.account_id and d.day = ${day}::date and d.mails >= ${mailsMax})
    on conflict (approval_id, contact_id) where approval_id is not null do nothing`)

export async function listAlerts(
  db: Reads,
  reach: Reach,
  { isUnacked, ...page }: Keyset<string> & { isUnacked: boolean },
): Promise<Alert[]> {
  const rows = await db.many<AlertRow>(sql`
    select ${alertColumns} from alerts ${newestFirst([within(reach), isUnacked && sql`acked_at is null`], page)}`)
  return rows.map(withTimesAsText)
}

/** The alert as it was, locked; null when there is none within reach. */
export const findAlertForUpdate = (tx: Tx, reach: Reach, id: string) =>
  tx.maybe<{ tenant_id: string | null; acked_at: Date | null }>(
    sql`select tenant_id, acked_at from alerts where id = ${id} and ${within(reach)} for update`,
  )

export const updateAlertAcked = (tx: Tx, id: string, ackedBy: string): Promise<number> =>
  tx.run(sql`update alerts set acked_at = ${tx.now}, acked_by = ${ackedBy} where id = ${id}`)

type ContactRow = StoredTarget &
  RowOf<Omit<AlertContact, 'target'>, 'created_at' | 'last_delivered_at' | 'last_failed_at'>

/** A contact's last try failed. */
export const isFailing = sql`coalesce(last_failed_at > last_delivered_at, last_failed_at is not null)`

const contactColumns = sql`id, channel, target, sealed_target, min_severity,
  case when ${isFailing} then 'failing' else 'active' end as status, created_at, last_delivered_at, last_failed_at,
  last_error`

const toContact = (secrets: Secrets, { target, sealed_target, ...row }: ContactRow): AlertContact => ({
  ...withTimesAsText(row),
  target: openTarget(secrets, row.id, { target, sealed_target }),
})

interface NewContact {
  id: string
  accountId: string
  channel: string
  sealedTarget: string
  minSeverity: string
  /** Sealed. */
  secret: string | null
}

export async function insertContact(tx: Tx, secrets: Secrets, contact: NewContact): Promise<AlertContact> {
  const row = await tx.one<ContactRow>(sql`
    insert into alert_contacts (id, account_id, channel, sealed_target, min_severity, secret, created_at)
    values (${contact.id}, ${contact.accountId}, ${contact.channel}, ${contact.sealedTarget}, ${contact.minSeverity},
      ${contact.secret}, ${tx.now})
    returning ${contactColumns}`)
  return toContact(secrets, row)
}

export const countContacts = (db: Db, accountId: string): Promise<number> =>
  db.value<number>(sql`select count(*) from alert_contacts where account_id = ${accountId}`)

export async function listContacts(
  db: Reads,
  { accountId }: Reach,
  { secrets, ...page }: Keyset<string> & { secrets: Secrets },
): Promise<AlertContact[]> {
  const rows = await db.many<ContactRow>(sql`
    select ${contactColumns} from alert_contacts ${newestFirst([sql`account_id = ${accountId}`], page)}`)
  return rows.map(row => toContact(secrets, row))
}

/** The address of a contact of the channel email. */
export const findEmailTarget = (db: Db, { accountId }: Pick<Reach, 'accountId'>, id: string) =>
  db.maybe<StoredTarget>(sql`
    select target, sealed_target from alert_contacts
    where id = ${id} and account_id = ${accountId} and channel = 'email'`)

/** Null when there is none within reach. */
export async function deleteContactRow(tx: Tx, secrets: Secrets, { accountId }: Reach, id: string) {
  const row = await tx.maybe<ContactRow>(sql`
    delete from alert_contacts where id = ${id} and account_id = ${accountId} returning ${contactColumns}`)
  return row && toContact(secrets, row)
}

export const lockClearTargets = (tx: Tx, limit: number): Promise<{ id: string; target: string }[]> =>
  tx.many(sql`
    select id, target from alert_contacts where target is not null limit ${limit} for update skip locked`)

export const updateSealedTargets = (tx: Tx, rows: readonly { id: string; sealed: string }[]): Promise<number> =>
  tx.run(sql`
    update alert_contacts c set target = null, sealed_target = s.sealed
    from unnest(${rows.map(row => row.id)}::uuid[], ${rows.map(row => row.sealed)}::text[]) as s (id, sealed)
    where c.id = s.id`)

/**
 * Those older than their account keeps what happened; not one that somebody is still to be told of, nor one whose rule still
 * stands over its scope.
 */
export const deleteOldAlerts = (tx: Tx, limit: number): Promise<number> =>
  tx.run(sql`
    delete from alerts where id = any(${deletable(
      sql`id`,
      sql`
      select a.id, a.account_id from alerts a join accounts c on c.id = a.account_id
      where not c.legal_hold and a.created_at < ${tx.now}::timestamptz - c.metadata_retention_days * interval '1 day'
        and not exists (select from alert_notifications n where n.alert_id = a.id)
        and not exists (select from guardian_states g where g.account_id = a.account_id and g.alert_id = a.id)
      order by a.id limit ${limit}`,
    )})`)
