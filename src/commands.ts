// The commands by name. Each answers with the exit code.
import { describeApi } from './app.ts'
import { describedApp } from './describe.ts'
import { verifyAudit } from './observers/audit/verify.ts'
import type { Config } from './platform/config.ts'
import { checkInstallation } from './platform/db/installation.ts'
import { migrate, readMigrations } from './platform/db/migrate.ts'
import { openDatabase, prepare, serve, withoutEnd } from './serve.ts'

export const commands: Record<string, (config: Config) => Promise<number>> = {
  serve,
  migrate: migrateOnly,
  'verify-audit': verifyOnly,
  openapi: printOpenApi,
  workers: printWorkers,
}

async function migrateOnly(config: Config): Promise<number> {
  const start = withoutEnd(config)
  const { url, close } = await openDatabase(config, start)
  const migrations = await readMigrations()
  const applied = await start.wait.until(() => migrate(url, migrations)).finally(close)
  console.log(applied.length > 0 ? `applied ${applied.join(', ')}` : 'the schema is up to date')
  return 0
}

async function verifyOnly(config: Config): Promise<number> {
  const { app, close } = await prepare(config, withoutEnd({ ...config, LOG_LEVEL: 'silent' }))
  const { db, secrets } = app.world
  // With another key every entry would look forged.
  const verifying = checkInstallation(db, secrets).then(() => verifyAudit(app.world))
  const verdict = await verifying.finally(async () => {
    // Or the process would wait for its connections, wherever the database goes on running.
    await db.close()
    await close()
  })
  console.log(JSON.stringify(verdict))
  return verdict.intact ? 0 : 1
}

async function printOpenApi(config: Config): Promise<number> {
  console.log(JSON.stringify(describeApi((await describedApp(config)).contracts), null, 2))
  return 0
}

async function printWorkers(config: Config): Promise<number> {
  for (const { kind, name } of (await describedApp(config)).workers) console.log(`${kind.padEnd(8)} ${name}`)
  return 0
}
