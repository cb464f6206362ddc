// Migrations: numbered SQL files, forward only, each in a transaction of its own, under one lock so that processes
// starting together apply each once. The lock is the transaction's: one of the session would stay behind in a pooler. A file
// that was applied must never change.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import type { Db } from './database.ts'
import { locks } from './locks.ts'
import { sql } from './sql.ts'

export interface Migration {
  name: string
  text: string
  sha256: string
}

const FOLDER = new URL('../../../migrations/', import.meta.url)

export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async name => {
      const text = await readFile(new URL(name, folder), 'utf8')
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/** Brings the schema up to date and answers the names of what was applied now. */
export async function migrate(url: string, migrations: readonly Migration[]): Promise<string[]> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'sluice-migrate',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    const applied: string[] = []
    for (;;) {
      const next = await applyNext(client, migrations)
      if (next === null) return applied
      applied.push(next)
    }
  } finally {
    // Where the connection is gone there is nothing to end, and the failure that was is the one to tell.
    await client.end().catch(() => {})
  }
}

/** The first that the database lacks; null when it lacks none. */
async function applyNext(client: pg.Client, migrations: readonly Migration[]): Promise<string | null> {
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [locks.migrate])
    const next = await findNext(client, migrations)
    if (next) await applyOne(client, next)
    await client.query('commit')
    return next?.name ?? null
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Asked under the lock: another process may have applied some since we looked last. */
async function findNext(client: pg.Client, migrations: readonly Migration[]): Promise<Migration | null> {
  await client.query(`create table if not exists migrations (
    name text primary key, sha256 text not null, applied_at timestamptz not null default now())`)
  const { rows } = await client.query<{ name: string; sha256: string }>('select name, sha256 from migrations')
  const applied = new Map(rows.map(row => [row.name, row.sha256]))
  const known = new Set(migrations.map(migration => migration.name))
  const newer = [...applied.keys()].filter(name => !known.has(name))
  if (newer.length > 0) {
    throw new Error(`the database was migrated by a newer Sluice (${newer.join(', ')}); start that version instead`)
  }
  const changed = migrations.find(({ name, sha256 }) => applied.has(name) && applied.get(name) !== sha256)
  if (changed) throw new Error(`migration ${changed.name} was changed after it had been applied`)
  return migrations.find(({ name }) => !applied.has(name)) ?? null
}

async function applyOne(client: pg.Client, { name, text, sha256 }: Migration): Promise<void> {
  try {
    await client.query(text)
    await client.query('insert into migrations (name, sha256) values ($1, $2)', [name, sha256])
  } catch (cause) {
    throw new Error(`migration ${name}`, { cause })
  }
}

/** Names of the migrations that this version brings and the database lacks. */
export async function pendingMigrations(db: Db, migrations: readonly Migration[]): Promise<string[]> {
  const exists = await db.value<boolean>(sql`select to_regclass('migrations') is not null`)
  const applied = exists ? await db.many<{ name: string }>(sql`select name from migrations`) : []
  const names = new Set(applied.map(row => row.name))
  return migrations.map(migration => migration.name).filter(name => !names.has(name))
}
