// The app without a running service: for printing what it consists of, and for the checks.
import { buildApp, type App } from './app.ts'
import { systemClock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { createLog } from './platform/log.ts'
import { Secrets } from './platform/secrets.ts'

/** Nothing connects before `start`, so neither the database nor the secrets are used. */
export function describedApp(config: Config): Promise<App> {
  return buildApp({
    config,
    clock: systemClock(),
    log: createLog('silent'),
    databaseUrl: 'postgres://localhost/unused',
    adminToken: 'unused',
    secrets: new Secrets('unused'),
  })
}
