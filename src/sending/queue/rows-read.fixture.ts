// How many rows of a table statements read.
import { system } from '../../platform/db/actor.ts'
import type { Database, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'

/** So far, of a table or of its partitions; what the same connection read before may be in it. */
export const rowsRead = (tx: Tx, table = 'queue'): Promise<number> =>
  tx.value<number>(sql`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::integer
    from pg_stat_xact_user_tables where starts_with(relname, ${table})`)

const ROWS = 800

/** By a statement, once the queue is long, where its plan is from when it was empty. */
export async function rowsReadOnceLong(
  db: Database,
  tenantId: string,
  run: (tx: Tx) => Promise<unknown>,
): Promise<number> {
  await db.transact(system('test'), tx => tx.run(sql`delete from queue`))
  await db.many(sql`vacuum queue`)
  return db.transact(system('test'), async tx => {
    // PostgreSQL keeps a plan from the sixth time on.
    for (let time = 0; time < 8; time++) await run(tx)
    await tx.run(sql`
      insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, accepted_at, updated_at)
      select gen_random_uuid(), 0, account_id, id, 'a@b.test', 'b.test', 'queued', ${tx.now}, ${tx.now}, ${tx.now}
      from tenants, generate_series(1, ${ROWS}) where id = ${tenantId}`)
    const before = await rowsRead(tx)
    await run(tx)
    return (await rowsRead(tx)) - before
  })
}
