// SQL over notifications: claiming what is due, and recording what came of it, fenced by the lease.
import { deletable } from '../../identity/accounts/legal-hold.ts'
import type { Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import type { Ended } from '../../platform/work/leased-work.ts'
import { LeasedTable, leasing } from '../../platform/work/leased-table.ts'
import type { Alert } from './contract.ts'
import { isFailing, type NewAlert } from './queries.ts'
import type { StoredTarget } from './target.ts'

type AlertFacts = Pick<NewAlert, 'account_id' | 'tenant_id' | 'kind' | 'title' | 'scope' | 'created_at'>

export interface ClaimedNotification extends StoredTarget, AlertFacts {
  id: string
  attempts: number
  was_due_at: Date
  /** Its mail was counted. */
  has_mail_day: boolean
  contact_id: string
  /** The contact's last try failed. */
  is_failing: boolean
  channel: 'email' | 'webhook' | 'chat' | 'paging'
  /** Sealed. */
  secret: string | null
  /** Of the approval, where it is about one. */
  alert_id: string
  /** Set: the contact is told that a mail waits for this approval. */
  approval_id: string | null
  is_sandbox: boolean
  severity: Alert['severity']
  data: Record<string, unknown>
}

interface TellLimits {
  leaseToken: string
  leaseUntil: Date
  /** What is being told; an account occurs as often as it has contacts among them. */
  telling: readonly ClaimedNotification[]
  limit: number
  failingLimit: number
  perAccount: number
}

/**
 * The oldest due one of each contact that nobody is telling now: contacts whose last try failed after the others, the
 * longest waiting first, no account with more than its share. Goes from contact to contact and reads one row of each, so that
 * one with very many makes nobody wait. A lease that lapsed gives its work back.
 */
export const claimNotifications = (tx: Tx, { telling, limit, failingLimit, perAccount, ...lease }: TellLimits) =>
  tx.many<ClaimedNotification>(prepared`
    with recursive waiting as (
      (select contact_id from alert_notifications where status = 'pending' order by contact_id limit 1)
      union all
      select (select n.contact_id from alert_notifications n where n.status = 'pending' and n.contact_id > waiting.contact_id
        order by n.contact_id limit 1) from waiting where contact_id is not null
    ), telling as (
      select account_id, count(*) as contacts from unnest(${telling.map(each => each.account_id)}::uuid[]) as account_id
      group by account_id
    ), due as (
      select waiting.contact_id, first.due_at from waiting cross join lateral (
        select n.due_at from alert_notifications n
        where n.contact_id = waiting.contact_id and n.status = 'pending' and n.due_at <= ${tx.now}
        order by n.due_at limit 1
      ) first
      where waiting.contact_id <> all(${telling.map(each => each.contact_id)}::uuid[])
        and not exists (select from alert_notifications l
          where l.contact_id = waiting.contact_id and l.lease_token is not null and l.due_at > ${tx.now})
    ), judged as (
      select c.id, c.account_id, due.due_at, ${isFailing} as is_failing
      from due join alert_contacts c on c.id = due.contact_id
    ), ordered as (
      select *, row_number() over (partition by account_id order by is_failing, due_at, id) as ordinal from judged
    ), shared as (
      select ordered.*, row_number() over (partition by is_failing order by due_at, id) as ordinal_of_kind
      from ordered left join telling using (account_id)
      where ordinal + coalesce(telling.contacts, 0) <= ${perAccount}
    ), contact as (
      select id, is_failing from shared where not is_failing or ordinal_of_kind <= ${failingLimit}
      order by is_failing, due_at, id limit ${limit}
    ), next as (
      select oldest.id, oldest.due_at, contact.is_failing from contact cross join lateral (
        select id, due_at from alert_notifications
        where contact_id = contact.id and status = 'pending' and due_at <= ${tx.now}
        order by due_at, id limit 1 for update skip locked
      ) oldest
    ), claimed as (
      update alert_notifications n set ${leasing(lease)}, updated_at = ${tx.now}
      from next where n.id = next.id
      returning n.id, n.alert_id, n.approval_id, n.contact_id, n.attempts, n.mail_day, n.updated_at,
        next.due_at as was_due_at, next.is_failing
    )
    select n.id, n.attempts, n.was_due_at, n.mail_day is not null as has_mail_day, n.is_failing, c.id as contact_id,
      c.channel, c.target, c.sealed_target, c.secret, coalesce(n.alert_id, n.approval_id) as alert_id, n.approval_id,
      c.account_id, o.sandbox as is_sandbox, a.tenant_id, coalesce(a.kind, 'approval_required') as kind,
      coalesce(a.severity, 'warning') as severity, coalesce(a.title, '') as title, a.scope,
      coalesce(a.data, '{}') as data, coalesce(a.created_at, n.updated_at) as created_at
    from claimed n join alert_contacts c on c.id = n.contact_id join accounts o on o.id = c.account_id
      left join alerts a on a.id = n.alert_id`)

export type Outcome =
  | { kind: 'delivered' }
  /** A mail that was accepted: what becomes of it is heard of later. */
  | { kind: 'sent' }
  /** Not tried, through no fault of the contact. */
  | { kind: 'skipped'; error: string }
  /** `nextAt` null: it was the last try. */
  | { kind: 'failed'; error: string; nextAt: Date | null }

type Told = Ended<ClaimedNotification, Outcome>

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

/** Where the lease was lost, another worker has it, or the verdict on its mail is in. */
export async function recordOutcomes(tx: Tx, told: readonly Told[]): Promise<Told[]> {
  const outcomes = told.map(({ item: { id, leaseToken }, result }) => ({
    id,
    lease_token: leaseToken,
    kind: result.kind,
    status: statusOf(result),
    error: 'error' in result ? result.error : null,
    next_at: result.kind === 'failed' ? result.nextAt : null,
  }))
  const rows = await tx.many<{ id: string }>(prepared`
    with recorded as (
      update alert_notifications n
      set status = o.status, due_at = coalesce(o.next_at, due_at), last_error = o.error, lease_token = null,
        updated_at = ${tx.now}
      from json_to_recordset(${JSON.stringify(outcomes)}::json)
        as o (id uuid, lease_token uuid, kind text, status text, error text, next_at timestamptz)
      where n.id = o.id and n.lease_token = o.lease_token
      returning n.id, n.contact_id, o.kind, o.error
    ), delivered as (
      update alert_contacts c set last_delivered_at = ${tx.now}
      from recorded r where c.id = r.contact_id and r.kind = 'delivered'
    ), failed as (
      update alert_contacts c set last_failed_at = ${tx.now}, last_error = r.error
      from recorded r where c.id = r.contact_id and r.kind = 'failed'
    )
    select id from recorded`)
  const ours = new Set(rows.map(row => row.id))
  return told.filter(({ item }) => ours.has(item.id))
}

export const notificationLeases = new LeasedTable(sql`alert_notifications`, 'id')

/** What nobody found the time to try: it is no news any more. */
export const updateUntriedDead = (tx: Tx, { before, limit, error }: { before: Date; limit: number; error: string }) =>
  tx.run(prepared`
    update alert_notifications set status = 'dead', last_error = ${error}, updated_at = ${tx.now}
    where id = any(array(
      select id from alert_notifications
      where status = 'pending' and due_at < ${before} and attempts = 0
      order by due_at limit ${limit} for update skip locked))`)

/**
 * What was settled long ago; the alerts themselves stay longer. Contact by contact, so that what a legal hold keeps is not
 * read at all.
 */
export const deleteOldNotifications = (tx: Tx, { before, limit }: { before: Date; limit: number }): Promise<number> =>
  tx.run(prepared`
    delete from alert_notifications where id = any(${deletable(
      sql`id`,
      sql`
      select old.id, c.account_id from alert_contacts c join accounts a on a.id = c.account_id cross join lateral (
        select n.id from alert_notifications n
        where n.contact_id = c.id and n.status <> 'pending' and n.updated_at < ${before} limit ${limit}
      ) old
      where not a.legal_hold limit ${limit}`,
    )})`)
