// All SQL over the tokens that models use. A transaction that changes them has locked the account's month.
import type { Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'

interface Month {
  accountId: string
  /** Its first day, `YYYY-MM-DD`, in UTC. */
  month: string
}

/** Locks the month until the transaction ends, and answers what was used in it. */
export const lockMonth = (tx: Tx, { accountId, month }: Month): Promise<number> =>
  tx.value<number>(prepared`
    insert into ai_token_months (account_id, month) values (${accountId}, ${month})
    on conflict (account_id, month) do update set used = ai_token_months.used
    returning used`)

/** A statement of its own: behind the lock it sees what others have reserved meanwhile. */
export const findCapAndReserved = (tx: Tx, { accountId, month }: Month): Promise<{ cap: number; reserved: number }> =>
  tx.one(prepared`
    select a.ai_monthly_token_cap as cap, (
      select coalesce(sum(r.tokens), 0)::bigint from ai_reservations r
      where r.account_id = a.id and r.month = ${month} and r.lease_until > ${tx.now}) as reserved
    from accounts a where a.id = ${accountId}`)

export interface Reservation extends Month {
  id: string
  tokens: number
}

export const insertReservation = (
  tx: Tx,
  { id, accountId, month, tokens, leaseUntil }: Reservation & { leaseUntil: Date },
): Promise<number> =>
  tx.run(prepared`
    insert into ai_reservations (id, account_id, month, tokens, lease_until)
    values (${id}, ${accountId}, ${month}, ${tokens}, ${leaseUntil})`)

export const deleteReservation = (tx: Tx, id: string): Promise<number> =>
  tx.run(prepared`delete from ai_reservations where id = ${id}`)

export const updateUsed = (tx: Tx, { accountId, month }: Month, used: number): Promise<number> =>
  tx.run(prepared`update ai_token_months set used = ${used} where account_id = ${accountId} and month = ${month}`)

export const deleteLapsedReservations = (tx: Tx, before: Date): Promise<number> =>
  tx.run(sql`delete from ai_reservations where lease_until < ${before}`)
