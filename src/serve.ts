// Bringing the service up and down: database, schema, World, servers, loops; and in reverse when asked to end.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { buildApp, type App } from './app.ts'
import { createDemo } from './demo.ts'
import { systemClock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { keptSecret } from './platform/data-dir.ts'
import { migrate, readMigrations } from './platform/db/migrate.ts'
import { waitForDatabase } from './platform/db/wait.ts'
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres.ts'
import { createLog, type Log } from './platform/log.ts'
import { Secrets } from './platform/secrets.ts'
import { welcome } from './welcome.ts'

/** SIGTERM drains within 30 s (RELIABILITY P20); what hangs longer is cut. */
const STOP_MS_MAX = 29_000

export async function serve(config: Config): Promise<number> {
  const { app, log, isNewInstallation, close } = await prepare(config)
  const demo = (config.DEMO ?? isNewInstallation) ? await createDemo(app.world) : null
  await app.start()
  process.on('unhandledRejection', err => log.error({ err }, 'a promise failed and nobody handled it'))
  process.stdout.write(welcome(config, { url: app.url, ports: app.ports, demo }))
  const reason = await new Promise<string>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(signal))
    process.on('uncaughtException', err => {
      log.fatal({ err }, 'an error nobody caught')
      resolve('uncaughtException')
    })
  })
  log.info({ reason }, 'stopping')
  const cut = setTimeout(() => {
    log.error('stopping took too long')
    process.exit(1)
  }, STOP_MS_MAX)
  await app.stop()
  await close()
  clearTimeout(cut)
  log.info('stopped')
  process.exit(reason === 'uncaughtException' ? 1 : 0)
}

/** Everything up to, but not including, opening doors and starting loops. */
export async function prepare(
  config: Config,
): Promise<{ app: App; log: Log; isNewInstallation: boolean; close: () => Promise<void> }> {
  const log = createLog(config.LOG_LEVEL)
  await mkdir(config.DATA_DIR, { recursive: true })
  const adminToken = config.ADMIN_TOKEN ?? (await keptSecret(config.DATA_DIR, 'operator-token'))
  const secretKey = config.SECRET_KEY ?? (await keptSecret(config.DATA_DIR, 'secret-key'))
  const { url, isNew, close } = await openDatabase(config, log)
  try {
    const applied = await migrate(url, await readMigrations())
    if (applied.length > 0) log.info({ applied }, 'schema brought up to date')
    const app = await buildApp({
      config,
      clock: systemClock(),
      log,
      databaseUrl: url,
      adminToken,
      secrets: new Secrets(secretKey),
    })
    return { app, log, isNewInstallation: isNew, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The external database, or the embedded one brought up now. */
export async function openDatabase(
  config: Config,
  log: Log = createLog(config.LOG_LEVEL),
): Promise<{ url: string; isNew: boolean; close: () => Promise<void> }> {
  if (config.DATABASE_URL) {
    await waitForDatabase(config.DATABASE_URL, log)
    return { url: config.DATABASE_URL, isNew: false, close: async () => {} }
  }
  const embedded = await startEmbeddedPostgres({
    folder: join(config.DATA_DIR, 'postgres'),
    log: (level, message, fields) => log[level](fields ?? {}, message),
  })
  return { url: embedded.url, isNew: embedded.origin === 'created', close: () => embedded.stop() }
}
