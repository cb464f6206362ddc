// The composition root: builds the World, the servers and the features, and starts and stops them.
import type { FastifyInstance } from 'fastify'
import { PauseBoard } from './control/suspensions/board.ts'
import { Gatekeeper } from './identity/access/authenticate.ts'
import { SmtpGatekeeper } from './identity/smtp-credentials/authenticate.ts'
import { MxServer } from './mailbox/inbound/server.ts'
import type { Gate } from './sending/messages/gate.ts'
import { SubmissionServer } from './sending/submission/server.ts'
import { contentMac } from './observers/audit/chain.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { ClockKeeper } from './platform/db/clock-keeper.ts'
import { Database } from './platform/db/database.ts'
import { claimInstallation, warnOfSuperuser } from './platform/db/installation.ts'
import { pendingMigrations, readMigrations } from './platform/db/migrate.ts'
import type { Contract } from './platform/http/contract.ts'
import { docsRoutes, mountReference } from './platform/http/docs.ts'
import { databaseChecks, healthRoutes, type ReadinessCheck } from './platform/http/health.ts'
import { openApiDocument } from './platform/http/openapi.ts'
import { createHttpServer } from './platform/http/server.ts'
import { LoadShedder } from './platform/work/load-shedder.ts'
import { tailLag } from './platform/work/tail-lag.ts'
import type { Worker } from './platform/work/worker.ts'
import { Supervisor } from './platform/work/supervisor.ts'
import { Dns } from './platform/net/dns.ts'
import { GuardedHttp } from './platform/net/guarded-http.ts'
import type { Log } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { ThreadPool } from './platform/threads/thread-pool.ts'
import { loadTlsIdentity } from './platform/tls.ts'
import type { Secrets } from './platform/secrets.ts'
import type { UntilAvailable } from './platform/db/wait.ts'
import { Wakeups } from './platform/db/wakeups.ts'
import type { World } from './platform/world.ts'
import { buildFeatures } from './features.ts'

export interface AppOptions {
  config: Config
  clock: Clock
  log: Log
  databaseUrl: string
  adminToken: string
  secrets: Secrets
}

export interface App {
  world: World
  contracts: readonly Contract[]
  loops: readonly Worker[]
  /** Where the API listens; null without the role. */
  url: string | null
  /** Where SMTP listens; null without the role. */
  ports: { submission: number | null; mx: number | null }
  /** Without a way to wait, a database that is away fails it. */
  start(untilAvailable?: UntilAvailable): Promise<void>
  stop(): Promise<void>
}

export async function buildApp(options: AppOptions): Promise<App> {
  const { config, databaseUrl, adminToken } = options
  const world = buildWorld(options)
  const gatekeeper = new Gatekeeper(world, adminToken)
  const board = new PauseBoard(world)
  const supervisor = new Supervisor(world)
  const clockKeeper = new ClockKeeper(world.db, world.clock)
  const state = { isStopping: false }
  const checks = await readinessChecks(world, board, state)
  const features = buildFeatures(world, { publicUrl: () => config.PUBLIC_URL ?? app.url ?? '' })
  let document = ''
  const routes = [
    ...features.routes,
    ...healthRoutes(checks),
    ...docsRoutes(world, { document: () => document, adminToken }),
  ]
  const contracts = routes.map(route => route.contract)
  document = JSON.stringify(describeApi(contracts))
  const http = createHttpServer(world, { routes, identify: credentials => gatekeeper.identify(credentials) })
  await mountReference(http)

  const smtp = smtpDoors(world, features.gate)
  const app: App = {
    world,
    contracts,
    loops: features.loops,
    url: null,
    ports: { submission: null, mx: null },
    start: async (untilAvailable = step => step()) => {
      await untilAvailable(() => claimInstallation(world.db, world.secrets))
      await untilAvailable(() => warnOfSuperuser(world.db, world.log))
      await untilAvailable(() => clockKeeper.start())
      world.wakeups.listen(databaseUrl)
      board.start()
      await smtp.listen(app.ports)
      // Last: whoever finds us ready finds every door open.
      if (config.ROLES.has('api')) app.url = await listen(http, config)
      if (config.ROLES.has('worker')) supervisor.start(features.loops)
    },
    stop: async () => {
      state.isStopping = true
      await Promise.all([http.close(), smtp.close()])
      await Promise.all([supervisor.stop(), board.stop()])
      await features.close()
      await gatekeeper.flush()
      clockKeeper.stop()
      await world.threads.close()
      await world.wakeups.close()
      await world.db.close()
    },
  }
  return app
}

export const describeApi = (contracts: readonly Contract[]) =>
  openApiDocument(contracts, {
    title: 'Sluice',
    version: '1.0',
    description: 'Email delivery and mailboxes for SaaS platforms: one account, many tenants.',
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  })

function buildWorld({ config, clock, log, databaseUrl, secrets }: AppOptions): World {
  const metrics = createMetrics()
  const wakeups = new Wakeups()
  const db = new Database({
    url: databaseUrl,
    replicaUrl: config.DATABASE_REPLICA_URL,
    connectionsMax: config.DATABASE_POOL,
    clock,
    auditMac: content => contentMac(secrets, content),
    onAppend: ({ hasEvents, hasEntries }) => {
      if (hasEvents) wakeups.hint('journal')
      if (hasEntries) wakeups.hint('audit')
    },
    onError: err => log.debug({ err }, 'an idle database connection was lost'),
  })
  metrics.gauge('sluice_database_connections', 'Connections of this process', ['state'], gauge => {
    for (const [state, count] of Object.entries(db.connections)) gauge.set({ state }, count)
  })
  metrics.gauge('sluice_tail_lag_events', 'Events a tail has not read yet', ['tail'], gauge => tailLag(db, gauge))
  const dns = new Dns({ servers: config.DNS_SERVERS, clock })
  const http = new GuardedHttp({ dns, allowed: config.WEBHOOK_ALLOW_CIDRS })
  const load = new LoadShedder()
  return { config, clock, secrets, db, wakeups, log, metrics, load, threads: new ThreadPool(), dns, http }
}

/** The SMTP ports of this process. Their certificate is read, or made, when they open. */
function smtpDoors(world: World, gate: Gate) {
  const { config, clock } = world
  const gatekeeper = new SmtpGatekeeper(world)
  let submission: SubmissionServer | null = null
  let mx: MxServer | null = null
  return {
    listen: async (ports: App['ports']): Promise<void> => {
      if (!config.ROLES.has('submission') && !config.ROLES.has('mx')) return
      const tls = await loadTlsIdentity(config, clock)
      if (config.ROLES.has('submission')) {
        submission = new SubmissionServer({ world, gate, gatekeeper, tls })
        ports.submission = await submission.listen()
      }
      if (config.ROLES.has('mx')) {
        mx = new MxServer({ world, tls })
        ports.mx = await mx.listen()
      }
    },
    close: async (): Promise<void> => {
      await Promise.all([submission?.close(), mx?.close()])
      await gatekeeper.flush()
    },
  }
}

async function readinessChecks(
  world: World,
  board: PauseBoard,
  state: { isStopping: boolean },
): Promise<ReadinessCheck[]> {
  const migrations = await readMigrations()
  return [
    ...databaseChecks(world),
    {
      name: 'migrations',
      run: async () => {
        const pending = await pendingMigrations(world.db, migrations)
        return pending.length > 0 ? `pending: ${pending.join(', ')}` : null
      },
    },
    { name: 'pauses', run: async () => (board.isLoaded ? null : 'not loaded') },
    { name: 'shutdown', run: async () => (state.isStopping ? 'stopping' : null) },
  ]
}

async function listen(http: FastifyInstance, config: Config): Promise<string> {
  const url = await http.listen({ port: config.PORT, host: config.HOST })
  return url.replace('[::1]', 'localhost')
}
