// Processes that share a database must share SECRET_KEY: with another one, sealed values would not open and
// signatures not verify, and that would show late. So the first process leaves a mark, and the others compare.
import { sameSecret, type Secrets } from '../secrets.ts'
import { system } from './actor.ts'
import type { Database, Db } from './database.ts'
import { sql } from './sql.ts'
import type { Log } from '../log.ts'

export async function claimInstallation(db: Database, secrets: Secrets): Promise<void> {
  await db.transact(system('start'), tx =>
    tx.run(sql`insert into installation (id, secret_check) values (1, ${markOf(secrets)}) on conflict do nothing`),
  )
  await checkInstallation(db, secrets)
}

/** Leaves no mark. */
export async function checkInstallation(db: Db, secrets: Secrets): Promise<void> {
  const known = await db.maybe<{ secret_check: string }>(sql`select secret_check from installation where id = 1`)
  if (known && !sameSecret(known.secret_check, markOf(secrets))) {
    throw new Error('SECRET_KEY is not the one that this database was set up with')
  }
}

const markOf = (secrets: Secrets): string => secrets.mac('installation', 'check').toString('hex')

/** A superuser may switch off the triggers that keep the audit log append-only, and read the server's files. */
export async function warnOfSuperuser(db: Database, log: Log): Promise<void> {
  const role = await db.one<{ name: string; is_super: boolean }>(
    sql`select rolname as name, rolsuper as is_super from pg_roles where rolname = current_user`,
  )
  if (!role.is_super) return
  log.warn({ role: role.name }, 'DATABASE_URL connects as a superuser: use a role that only owns its database')
}
