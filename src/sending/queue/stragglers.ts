// The SQL of stragglers: what a pause matched while it was being sent.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'
import { keysOf, type HeldRow } from './held.ts'
import { isSameRow, type Key } from './keys.ts'

export const listPausesWithStragglersAnywhere = (db: Db): Promise<{ suspension_id: string; account_id: string }[]> =>
  db.many(prepared`select distinct suspension_id, account_id from suspension_stragglers limit 1000`)

export const listStragglers = (tx: Tx, suspensionId: string): Promise<Key[]> =>
  tx.many<Key>(prepared`
    select account_id, tenant_id, message_id, n from suspension_stragglers where suspension_id = ${suspensionId}`)

/** Those of them that wait again. */
export const updateStragglersHeld = (tx: Tx, suspensionId: string, stragglers: readonly Key[]): Promise<HeldRow[]> =>
  tx.many<HeldRow>(prepared`
    update queue q
    set status = 'held', suspension_id = ${suspensionId}, held_at = ${tx.now}, due_at = null, updated_at = ${tx.now}
    from unnest(${keysOf(stragglers)}) as o (account_id, tenant_id, message_id, n)
    where ${isSameRow} and q.status in ('queued', 'deferred')
    returning q.message_id, q.tenant_id, q.recipient`)

/** Those that are no longer being sent: held, decided, or gone. */
export const deleteSettledStragglers = (tx: Tx, suspensionId: string): Promise<number> =>
  tx.run(prepared`
    delete from suspension_stragglers o where suspension_id = ${suspensionId}
      and not exists (select from queue q where ${isSameRow} and q.status in ('queued', 'deferred', 'sending'))`)

export const deleteStragglers = (tx: Tx, suspensionId: string): Promise<number> =>
  tx.run(sql`delete from suspension_stragglers where suspension_id = ${suspensionId}`)
