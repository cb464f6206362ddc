// The SQL of the processes that deliver: their heartbeats, and whether they have been steady.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared, sql } from '../../platform/db/sql.ts'

/** `gapMs` without a heartbeat, and it begins anew to be steady. */
export const beat = (tx: Tx, { id, gapMs }: { id: string; gapMs: number }): void =>
  tx.send(prepared`
    insert into holders as h (id, beat_at, steady_since) values (${id}, ${tx.now}, ${tx.now})
    on conflict (id) do update set beat_at = ${tx.now},
      steady_since = case when h.beat_at < ${new Date(tx.now.getTime() - gapMs)} then ${tx.now} else h.steady_since end`)

/** Whether this holder's heartbeats have come without a gap for so long, up to now. */
export const isSteady = (
  db: Db,
  { id, now, gapMs, steadyMs }: { id: string; now: Date; gapMs: number; steadyMs: number },
): Promise<boolean> =>
  db.value<boolean>(prepared`
    select exists (
      select from holders where id = ${id} and beat_at >= ${new Date(now.getTime() - gapMs)}
        and steady_since <= ${new Date(now.getTime() - steadyMs)})`)

export const updateLeft = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update holders set left_at = ${tx.now} where id = ${id}`)

export const deleteOldHolders = (tx: Tx, { before, limit }: { before: Date; limit: number }): Promise<number> =>
  tx.run(sql`
    delete from holders where id in (
      select id from holders h where beat_at < ${before}
        and not exists (select from queue q where q.status = 'sending' and q.holder_id = h.id) limit ${limit})`)
