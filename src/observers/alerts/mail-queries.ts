// SQL over alert mail: each account's share of a day, and what became of the mails that were accepted.
import type { Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'

/** What an account may cause to its contacts: they leave from the operator's own address. */
export const MAILS_PER_DAY_MAX = 100
/** Of those, for approvals: an agent that asks for many must not use up the mails that alerts would need. */
export const APPROVAL_MAILS_PER_DAY_MAX = 50

interface MailShare {
  accountId: string
  /** `2026-06-01`, UTC. */
  day: string
  mailsMax: number
}

/** False when the account has had its mails of this day. Concurrent callers wait for each other. */
export const countMail = async (tx: Tx, { accountId, day, mailsMax }: MailShare): Promise<boolean> =>
  (await tx.run(prepared`
    insert into alert_mail_days as d (account_id, day, mails) values (${accountId}, ${day}, 1)
    on conflict (account_id, day) do update set mails = d.mails + 1 where d.mails < ${mailsMax}`)) > 0

/** So that a second try of the same notification is not counted again. False when the lease was lost. */
export const updateMailDay = async (tx: Tx, { id, leaseToken, day }: { id: string; leaseToken: string; day: string }) =>
  (await tx.run(prepared`
    update alert_notifications set mail_day = ${day} where id = ${id} and lease_token = ${leaseToken}`)) > 0

export const deleteOldMailDays = (tx: Tx, before: Date): Promise<number> =>
  tx.run(sql`delete from alert_mail_days where day < (${before}::timestamptz at time zone 'UTC')::date`)

export interface MailOutcome {
  notification_id: string
  type: 'delivered' | 'bounced' | 'blocked' | 'expired' | 'cancelled' | 'complained'
  response: string | null
}

/** What happened to alert mails, in order. An installation that has sent none pays for an empty look-up. */
export const listMailOutcomes = (tx: Tx, { after, upTo }: { after: number; upTo: number }): Promise<MailOutcome[]> =>
  tx.many<MailOutcome>(prepared`
    select m.metadata ->> 'alert_notification' as notification_id, e.type, e.data ->> 'response' as response
    from operator_senders s
      join events e on e.account_id = s.account_id and e.id > ${after} and e.id <= ${upTo}
      join messages m on m.id = e.message_id
    where e.type in ('delivered', 'bounced', 'blocked', 'expired', 'cancelled', 'complained')
      and m.metadata ? 'alert_notification'
    order by e.id`)

/** The worker with the lease has lost it: the verdict is in. A bounce may come after the delivery, but not the reverse. */
export const updateMailDelivered = (tx: Tx, notificationId: string): Promise<number> =>
  tx.run(prepared`
    with told as (
      update alert_notifications
      set status = 'delivered', last_error = null, lease_token = null, updated_at = ${tx.now}
      where id = ${notificationId}::uuid and status in ('pending', 'sent')
      returning contact_id
    )
    update alert_contacts c set last_delivered_at = ${tx.now} from told where c.id = told.contact_id`)

export const updateMailFailed = (tx: Tx, notificationId: string, error: string): Promise<number> =>
  tx.run(prepared`
    with failed as (
      update alert_notifications
      set status = 'dead', last_error = ${error}, lease_token = null, updated_at = ${tx.now}
      where id = ${notificationId}::uuid and status in ('pending', 'sent', 'delivered')
      returning contact_id
    )
    update alert_contacts c set last_failed_at = ${tx.now}, last_error = ${error} from failed where c.id = failed.contact_id`)
