// Whether a pooler such as PgBouncer stands between this process and PostgreSQL, and what it keeps. In transaction mode
// each transaction may meet another session, so whatever belongs to a session is lost: LISTEN, statements prepared by
// name, settings, locks. Used all the same they fail late or never, so each new connection is asked and we do without.
import { randomBytes } from 'node:crypto'
import type pg from 'pg'

export interface Pooling {
  /** Two transactions of one connection may meet two sessions. */
  isPooled: boolean
  /** Statements that were prepared by name are found again. */
  keepsNamedStatements: boolean
}

/**
 * What this connection leads to. A pooler gives out cancel keys of its own: the process that it names when it greets is
 * not the one that answers. Session mode looks like transaction mode and is treated like it, which costs speed only.
 */
export async function findPooling(client: pg.ClientBase): Promise<Pooling> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { processID } = client as unknown as { processID: number | null }
  if (rows[0]!.pid === processID) return { isPooled: false, keepsNamedStatements: true }
  return { isPooled: true, keepsNamedStatements: await renamesStatements(client) }
}

/**
 * A pooler that keeps named statements gives them names of its own, because two of its clients may use one name for two
 * statements. Where PostgreSQL knows ours, the pooler passed it on unread, and the next session would not know it.
 */
async function renamesStatements(client: pg.ClientBase): Promise<boolean> {
  const name = `sluice_${randomBytes(8).toString('hex')}`
  await client.query('begin')
  await client.query({ name, text: 'select 1' })
  const { rowCount } = await client.query('select from pg_prepared_statements where name = $1', [name])
  // It would stay for good in a session that others use.
  if (rowCount) await client.query(`deallocate ${name}`)
  await client.query('commit')
  return !rowCount
}
