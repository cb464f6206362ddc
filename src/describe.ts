// The contracts without a running service: for printing the OpenAPI document and for the checks.
import { buildApp } from './app.ts'
import { systemClock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import type { Contract } from './platform/http/contract.ts'
import { createLog } from './platform/log.ts'
import { Secrets } from './platform/secrets.ts'

/** Nothing connects before `start`, so neither the database nor the secrets are used. */
export async function describedContracts(config: Config): Promise<readonly Contract[]> {
  const app = await buildApp({
    config,
    clock: systemClock,
    log: createLog('silent'),
    databaseUrl: 'postgres://localhost/unused',
    adminToken: 'unused',
    secrets: new Secrets('unused'),
  })
  return app.contracts
}
