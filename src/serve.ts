// Bringing the service up and down: database, schema, World, servers, workers; and in reverse when asked to end.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { buildApp, type App } from './app.ts'
import { createDemo } from './demo.ts'
import { systemClock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { keptSecret } from './platform/data-dir.ts'
import { migrate, readMigrations } from './platform/db/migrate.ts'
import { DatabaseWait } from './platform/db/wait.ts'
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres.ts'
import { createLog, type Log } from './platform/log.ts'
import { Secrets } from './platform/secrets.ts'
import { boundGarbage } from './platform/threads/heap.ts'
import { welcome } from './welcome.ts'

/** SIGTERM drains within 30 s; what hangs longer is cut. */
const STOP_MS_MAX = 29_000

/** What was opened before a start was called off gets this long to close. */
const CALL_OFF_MS_MAX = 10_000

export async function serve(config: Config): Promise<number> {
  boundGarbage()
  const log = createLog(config.LOG_LEVEL)
  const end = awaitEnd(log)
  const wait = new DatabaseWait(log, end.signal)
  const opened: Prepared[] = []
  const app = await Promise.race([start(config, { log, wait, opened }), end.reason.then(() => null)]).catch(error => {
    if (end.signal.aborted) return null
    throw error
  })
  const reason = await end.reason
  const exitCode = reason === 'uncaughtException' ? 1 : 0
  if (!app) {
    log.info({ reason }, 'stopped before it had started')
    const closed = Promise.all(opened.map(each => each.close()))
    await Promise.race([closed, delay(CALL_OFF_MS_MAX, null, { ref: false })]).catch(() => {})
    process.exit(exitCode)
  }
  log.info({ reason }, 'stopping')
  const cut = setTimeout(() => {
    log.error('stopping took too long')
    process.exit(1)
  }, STOP_MS_MAX)
  await app.stop()
  await Promise.all(opened.map(each => each.close()))
  clearTimeout(cut)
  log.info('stopped')
  process.exit(exitCode)
}

/** From the first moment on: who is asked to end while still starting must not die of it. */
function awaitEnd(log: Log): { signal: AbortSignal; reason: Promise<string> } {
  const ending = new AbortController()
  const reason = new Promise<string>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(signal))
    process.on('uncaughtException', err => {
      log.fatal({ err }, 'an error nobody caught')
      resolve('uncaughtException')
    })
  })
  process.on('unhandledRejection', err => log.error({ err }, 'a promise failed and nobody handled it'))
  void reason.then(() => ending.abort())
  return { signal: ending.signal, reason }
}

interface Starting {
  log: Log
  wait: DatabaseWait
  /** Told what is to be closed in the end, as soon as it is open. */
  opened: Prepared[]
}

async function start(config: Config, { log, wait, opened }: Starting): Promise<App> {
  const prepared = await prepare(config, { log, wait })
  opened.push(prepared)
  const { app, isEmbedded } = prepared
  // Others may be coming back from the same outage.
  if (wait.hasWaited) app.world.db.continuity.noteLost()
  await app.start(wait.until)
  // Its key is shown once: not before nothing can keep it from being shown.
  const demo = (config.DEMO ?? isEmbedded) ? await createDemo(app.world, wait.until) : null
  process.stdout.write(welcome(config, { url: app.url, ports: app.ports, demo }))
  return app
}

interface Prepared {
  app: App
  isEmbedded: boolean
  close: () => Promise<void>
}

/** Everything up to, but not including, opening doors and starting workers. */
export async function prepare(config: Config, { log, wait }: Omit<Starting, 'opened'>): Promise<Prepared> {
  await mkdir(config.DATA_DIR, { recursive: true })
  const adminToken = config.ADMIN_TOKEN ?? (await keptSecret(config.DATA_DIR, 'operator-token'))
  const secretKey = config.SECRET_KEY ?? (await keptSecret(config.DATA_DIR, 'secret-key'))
  const { url, isEmbedded, close } = await openDatabase(config, { log, wait })
  try {
    const migrations = await readMigrations()
    const applied = await wait.until(() => migrate(url, migrations))
    if (applied.length > 0) log.info({ applied }, 'schema brought up to date')
    const app = await buildApp({
      config,
      clock: systemClock(),
      log,
      databaseUrl: url,
      adminToken,
      secrets: new Secrets(secretKey),
    })
    return { app, isEmbedded, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The external database, or the embedded one brought up now. */
export async function openDatabase(config: Config, { log, wait }: Omit<Starting, 'opened'>) {
  if (config.DATABASE_URL) {
    await wait.connection(config.DATABASE_URL)
    return { url: config.DATABASE_URL, isEmbedded: false, close: async () => {} }
  }
  const embedded = await startEmbeddedPostgres({
    folder: join(config.DATA_DIR, 'postgres'),
    log: (level, message, fields) => log[level](fields ?? {}, message),
  })
  return { url: embedded.url, isEmbedded: true, close: () => embedded.stop() }
}

/** For commands that end by themselves, or by a signal as any command does. */
export function withoutEnd(config: Config): Omit<Starting, 'opened'> {
  const log = createLog(config.LOG_LEVEL)
  return { log, wait: new DatabaseWait(log, new AbortController().signal) }
}
