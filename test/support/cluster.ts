// One throw-away PostgreSQL for a test run, with a migrated template that every test file clones. `npm test` starts it and
// hands it down; a single test file run by hand starts its own.
import { mkdtemp, rm } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { memoryFolder } from './memory-folder.ts'

const TEMPLATE = 'sluice_template'

export interface Cluster {
  /** As the role that the service connects as, which here may also create databases. */
  url: string
  superuserUrl: string
  stop(): Promise<void>
}

export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(await memoryFolder(), 'sluice-test-'))
  const embedded = await startEmbeddedPostgres({
    folder: join(folder, 'postgres'),
    log: (level, message) => void (level === 'error' && console.error(message)),
    settings: { shared_buffers: '64MB', max_wal_size: '256MB', max_connections: '300' },
  })
  await run(embedded.superuserUrl, `alter role ${new URL(embedded.url.replace('@/', '@host/')).username} createdb`)
  await run(embedded.url, `create database ${TEMPLATE}`)
  await migrate(databaseIn(embedded.url, TEMPLATE), await readMigrations())
  return {
    url: embedded.url,
    superuserUrl: embedded.superuserUrl,
    stop: async () => {
      await embedded.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface TestDatabase {
  url: string
  /** As superuser: nobody else may end the database's own processes, which may be vacuuming it. */
  drop(superuserUrl: string): Promise<void>
}

export async function cloneDatabase(clusterUrl: string, template: string = TEMPLATE): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`
  // Copied as files, the template costs a third of what it costs page by page through the log, and its catalogue cache comes
  // along, which the first connection would build anew.
  await run(clusterUrl, `create database ${name} template ${template} strategy file_copy`)
  return {
    url: databaseIn(clusterUrl, name),
    drop: superuserUrl => run(superuserUrl, `drop database ${name} with (force)`),
  }
}

export const databaseIn = (url: string, name: string): string => url.replace(/^(\w+:\/\/[^/]*)\/[^?]*/, `$1/${name}`)

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
