// SQL over notifications: claiming what is due, and recording what came of it, fenced by the lease.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'
import type { Alert } from './contract.ts'
import { isFailing } from './queries.ts'
import type { StoredTarget } from './target.ts'

export interface ClaimedNotification extends StoredTarget {
  id: string
  attempts: number
  /** Its mail was counted. */
  has_mail_day: boolean
  contact_id: string
  channel: 'email' | 'webhook' | 'chat' | 'paging'
  /** Sealed. */
  secret: string | null
  alert_id: string
  account_id: string
  is_sandbox: boolean
  tenant_id: string | null
  kind: string
  severity: Alert['severity']
  title: string
  scope: string | null
  data: Record<string, unknown>
  created_at: Date
}

export interface ContactToTell {
  contact_id: string
  account_id: string
  /** Its last try failed. */
  is_failing: boolean
}

export interface RoomToTell {
  now: Date
  /** Who is being told; an account occurs as often as it has contacts among them. */
  telling: readonly ContactToTell[]
  limit: number
  failingLimit: number
  perAccount: number
}

/**
 * Contacts with something due that nobody is telling now: those whose last try failed after the others, the longest
 * waiting first, no account with more than its share. A leased notification stays due, so one scan over what is due
 * knows who is being told elsewhere.
 */
export const listContactsToTell = (
  db: Db,
  { now, telling, limit, failingLimit, perAccount }: RoomToTell,
): Promise<ContactToTell[]> =>
  db.many<ContactToTell>(prepared`
    with telling as (
      select account_id, count(*) as contacts from unnest(${telling.map(each => each.account_id)}::uuid[]) as account_id
      group by account_id
    ), due as (
      select contact_id, min(due_at) as due_at from alert_notifications
      where status = 'pending' and due_at <= ${now} and contact_id <> all(${telling.map(each => each.contact_id)}::uuid[])
      group by contact_id having not coalesce(bool_or(lease_until > ${now}), false)
    ), judged as (
      select c.id, c.account_id, due.due_at, ${isFailing} as is_failing
      from due join alert_contacts c on c.id = due.contact_id
    ), placed as (
      select *, row_number() over (partition by account_id order by is_failing, due_at, id) as place from judged
    ), shared as (
      select placed.*, row_number() over (partition by is_failing order by due_at, id) as place_of_kind
      from placed left join telling using (account_id)
      where place + coalesce(telling.contacts, 0) <= ${perAccount}
    )
    select id as contact_id, account_id, is_failing from shared
    where not is_failing or place_of_kind <= ${failingLimit}
    order by is_failing, due_at, id limit ${limit}`)

/** The contact's oldest due one. A lease that lapsed gives its work back. */
export const claimDueNotification = (
  tx: Tx,
  contactId: string,
  { leaseToken, leaseUntil }: { leaseToken: string; leaseUntil: Date },
): Promise<ClaimedNotification | null> =>
  tx.maybe<ClaimedNotification>(prepared`
    with due as (
      select id from alert_notifications
      where contact_id = ${contactId} and status = 'pending' and due_at <= ${tx.now}
        and (lease_until is null or lease_until <= ${tx.now})
      order by due_at, id limit 1 for update skip locked
    ), claimed as (
      update alert_notifications n
      set lease_token = ${leaseToken}, lease_until = ${leaseUntil}, attempts = attempts + 1, updated_at = ${tx.now}
      from due where n.id = due.id
      returning n.id, n.alert_id, n.contact_id, n.attempts, n.mail_day
    )
    select n.id, n.attempts, n.mail_day is not null as has_mail_day, c.id as contact_id, c.channel, c.target,
      c.sealed_target, c.secret, a.id as alert_id, a.account_id, o.sandbox as is_sandbox, a.tenant_id, a.kind, a.severity,
      a.title, a.scope, a.data, a.created_at
    from claimed n join alert_contacts c on c.id = n.contact_id join alerts a on a.id = n.alert_id
      join accounts o on o.id = a.account_id`)

export type Outcome =
  | { kind: 'delivered' }
  /** A mail that was accepted: what becomes of it is heard of later. */
  | { kind: 'sent' }
  /** Not tried, through no fault of the contact. */
  | { kind: 'skipped'; error: string }
  /** `nextAt` null: it was the last try. */
  | { kind: 'failed'; error: string; nextAt: Date | null }

export interface Tried {
  id: string
  contactId: string
  leaseToken: string
  outcome: Outcome
}

const statusOf = (outcome: Outcome): 'delivered' | 'sent' | 'pending' | 'dead' => {
  switch (outcome.kind) {
    case 'delivered':
    case 'sent':
      return outcome.kind
    case 'skipped':
      return 'dead'
    case 'failed':
      return outcome.nextAt ? 'pending' : 'dead'
  }
}

/** False when the lease was lost: then another worker has it, or the verdict on its mail is in. */
export async function recordOutcome(tx: Tx, { id, contactId, leaseToken, outcome }: Tried): Promise<boolean> {
  const error = 'error' in outcome ? outcome.error : null
  const nextAt = outcome.kind === 'failed' ? outcome.nextAt : null
  const updated = await tx.run(prepared`
    update alert_notifications
    set status = ${statusOf(outcome)}, due_at = coalesce(${nextAt}::timestamptz, due_at), last_error = ${error},
      lease_token = null, lease_until = null, updated_at = ${tx.now}
    where id = ${id} and lease_token = ${leaseToken}`)
  if (updated === 0) return false
  if (outcome.kind === 'delivered') {
    await tx.run(prepared`update alert_contacts set last_delivered_at = ${tx.now} where id = ${contactId}`)
  } else if (outcome.kind === 'failed') {
    await tx.run(prepared`
      update alert_contacts set last_failed_at = ${tx.now}, last_error = ${error} where id = ${contactId}`)
  }
  return true
}

/** What was settled long ago; the alerts themselves stay longer. */
export const deleteOldNotifications = (tx: Tx, { before, limit }: { before: Date; limit: number }): Promise<number> =>
  tx.run(prepared`
    delete from alert_notifications where id in (
      select id from alert_notifications where status <> 'pending' and updated_at < ${before} limit ${limit})`)
