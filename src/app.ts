// The composition root: builds the World, lists the features, and starts and stops them.
import type { FastifyInstance } from 'fastify'
import { feature as assignments } from './billing/assignments/feature.ts'
import { feature as charges } from './billing/charges/feature.ts'
import { feature as payments } from './billing/payments/feature.ts'
import { feature as plans } from './billing/plans/feature.ts'
import { feature as feedback } from './control/feedback/feature.ts'
import { feature as suspensions } from './control/suspensions/feature.ts'
import { Authenticator } from './identity/access/authenticate.ts'
import { feature as accounts } from './identity/accounts/feature.ts'
import { feature as apiKeys } from './identity/api-keys/feature.ts'
import { feature as domains } from './identity/domains/feature.ts'
import { feature as smtpCredentials } from './identity/smtp-credentials/feature.ts'
import { feature as tenants } from './identity/tenants/feature.ts'
import { feature as approvals } from './mailbox/approvals/feature.ts'
import { feature as connections } from './mailbox/connections/feature.ts'
import { feature as drafts } from './mailbox/drafts/feature.ts'
import { feature as compose } from './mailbox/compose/feature.ts'
import { feature as extraction } from './mailbox/extraction/feature.ts'
import { feature as inbound } from './mailbox/inbound/feature.ts'
import { feature as folders } from './mailbox/folders/feature.ts'
import { feature as inboxes } from './mailbox/inboxes/feature.ts'
import { feature as mcp } from './mailbox/mcp/feature.ts'
import { feature as postmaster } from './mailbox/postmaster/feature.ts'
import { feature as inboxMessages } from './mailbox/messages/feature.ts'
import { feature as sources } from './mailbox/sources/feature.ts'
import { feature as tainted } from './mailbox/tainted/feature.ts'
import { feature as streams } from './mailbox/streams/feature.ts'
import { feature as sync } from './mailbox/sync/feature.ts'
import { feature as threads } from './mailbox/threads/feature.ts'
import { feature as attachments } from './mailbox/attachments/feature.ts'
import { feature as search } from './mailbox/search/feature.ts'
import { feature as alerts } from './observers/alerts/feature.ts'
import { contentMac } from './observers/audit/chain.ts'
import { feature as audit } from './observers/audit/feature.ts'
import { feature as events } from './observers/events/feature.ts'
import { feature as guardian } from './observers/guardian/feature.ts'
import { feature as metrics } from './observers/metrics/feature.ts'
import { feature as overview } from './observers/overview/feature.ts'
import { feature as queue } from './observers/queue/feature.ts'
import { feature as reputation } from './observers/reputation/feature.ts'
import { feature as webhooks } from './observers/webhooks/feature.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { ClockKeeper } from './platform/db/clock-keeper.ts'
import { Database } from './platform/db/database.ts'
import { claimInstallation, warnOfSuperuser } from './platform/db/installation.ts'
import { pendingMigrations, readMigrations } from './platform/db/migrate.ts'
import type { Feature, SmtpPort } from './platform/feature.ts'
import type { Contract } from './platform/http/contract.ts'
import { docsRoutes } from './platform/http/docs.ts'
import { databaseChecks, healthRoutes, type ReadinessCheck } from './platform/http/health.ts'
import { LargeAnswers } from './platform/http/large-answers.ts'
import { openApiDocument } from './platform/http/openapi.ts'
import { mountReference } from './platform/http/reference.ts'
import { createHttpServer } from './platform/http/server.ts'
import { journalWorkers } from './platform/journal/partitions.ts'
import { Dns } from './platform/net/dns.ts'
import { GuardedHttp } from './platform/net/guarded-http.ts'
import { Slices } from './platform/slices.ts'
import { LoadShedder } from './platform/work/load-shedder.ts'
import { Supervisor } from './platform/work/supervisor.ts'
import { tailLag } from './platform/work/tail-lag.ts'
import type { Worker } from './platform/work/worker.ts'
import type { Log } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { ThreadPool } from './platform/threads/thread-pool.ts'
import type { Secrets } from './platform/secrets.ts'
import { buildShared, type Shared } from './shared.ts'
import { loadTlsIdentity } from './platform/tls.ts'
import type { UntilAvailable } from './platform/db/wait.ts'
import { Wakeups } from './platform/db/wakeups.ts'
import type { World } from './platform/world.ts'
import { feature as delivery } from './sending/delivery/feature.ts'
import { feature as holds } from './sending/holds/feature.ts'
import { feature as messages } from './sending/messages/feature.ts'
import { feature as setAside } from './sending/set-aside/feature.ts'
import { feature as submission } from './sending/submission/feature.ts'
import { feature as unsubscribe } from './sending/unsubscribe/feature.ts'
import { feature as usage } from './sending/usage/feature.ts'

/** One line per feature. The order is that of the API's documentation. */
const FEATURES: readonly ((world: World, shared: Shared) => Feature)[] = [
  () => ({ workers: journalWorkers }),
  accounts,
  tenants,
  apiKeys,
  domains,
  smtpCredentials,
  messages,
  usage,
  unsubscribe,
  feedback,
  suspensions,
  queue,
  setAside,
  inboxes,
  connections,
  sync,
  threads,
  inboxMessages,
  extraction,
  folders,
  sources,
  tainted,
  compose,
  approvals,
  drafts,
  streams,
  mcp,
  postmaster,
  webhooks,
  events,
  metrics,
  reputation,
  overview,
  audit,
  guardian,
  alerts,
  plans,
  assignments,
  charges,
  payments,
  delivery,
  holds,
  submission,
  inbound,
  search,
  attachments,
]

interface AppOptions {
  config: Config
  clock: Clock
  log: Log
  databaseUrl: string
  adminToken: string
  secrets: Secrets
  /** In tests: a transaction that is opened inside another one fails. */
  forbidsNesting?: boolean
  /** In tests: the threads of one process serve many boxes, because each has to load its work. */
  threads?: ThreadPool
}

export interface App {
  world: World
  contracts: readonly Contract[]
  workers: readonly Worker[]
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
  const authenticator = new Authenticator(world, adminToken)
  const supervisor = new Supervisor(world)
  const clockKeeper = new ClockKeeper(world.db, world.clock)
  const state = { isStopping: false }
  const checks = await readinessChecks(world, state)
  const shared = buildShared(world, () => config.PUBLIC_URL ?? app.url ?? '')
  const features = FEATURES.map(feature => feature(world, shared))
  const workers = features.flatMap(feature => feature.workers ?? [])
  let document: Buffer | null = null
  const routes = [
    ...features.flatMap(feature => feature.routes ?? []),
    ...healthRoutes(checks),
    ...docsRoutes(world, { document: () => (document ??= documentOf(contracts)), adminToken }),
  ]
  const contracts: Contract[] = routes.map(route => route.contract)
  const [largeAnswers, pages] = [new LargeAnswers(), LargeAnswers.ofPages()]
  const identify: Parameters<typeof createHttpServer>[1]['identify'] = credentials =>
    authenticator.identify(credentials)
  const http = createHttpServer(world, { routes, largeAnswers, pages, identify })
  await mountReference(http, pages)

  const doors = features.flatMap(feature => feature.smtp ?? [])
  const app: App = {
    world,
    contracts,
    workers,
    url: null,
    ports: { submission: null, mx: null },
    start: async (untilAvailable = step => step()) => {
      await untilAvailable(() => claimInstallation(world.db, world.secrets))
      await untilAvailable(() => warnOfSuperuser(world.db, world.log))
      await untilAvailable(() => clockKeeper.start())
      world.wakeups.listen(databaseUrl)
      await openPorts(world, doors, app.ports)
      // Last: a caller that finds us ready finds every door open.
      if (config.ROLES.has('api')) app.url = await listen(http, config)
      supervisor.start(config.ROLES.has('worker') ? workers : workers.filter(isEverywhere))
    },
    stop: async () => {
      state.isStopping = true
      await Promise.all([http.close(), ...doors.map(door => door.close())])
      await supervisor.stop()
      const drained = Promise.all(features.map(async feature => feature.drain?.()))
      const requestsEnd = drained.then(() => world.http.close())
      await Promise.all([requestsEnd, ...features.map(async feature => feature.close?.(requestsEnd))])
      await authenticator.flush()
      clockKeeper.stop()
      await world.threads.close()
      await world.wakeups.close()
      await world.db.close()
    },
  }
  return app
}

const isEverywhere = (worker: Worker): boolean => worker.kind === 'periodic' && worker.isEverywhere === true

export const describeApi = (contracts: readonly Contract[]) =>
  openApiDocument(contracts, {
    title: 'Sluice',
    version: '1.0',
    description: 'Email delivery and mailboxes for SaaS platforms: one account, many tenants.',
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  })

const documentOf = (contracts: readonly Contract[]): Buffer => Buffer.from(JSON.stringify(describeApi(contracts)))

function buildWorld({
  config,
  clock,
  log,
  databaseUrl,
  secrets,
  forbidsNesting = false,
  ...options
}: AppOptions): World {
  const metrics = createMetrics()
  const wakeups = new Wakeups()
  const db = new Database({
    url: databaseUrl,
    replicaUrl: config.DATABASE_REPLICA_URL,
    connectionsMax: config.DATABASE_POOL,
    forbidsNesting,
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
  const [threads, load] = [options.threads ?? new ThreadPool(), new LoadShedder()]
  return { config, clock, secrets, db, wakeups, log, metrics, threads, load, dns, http, slices: new Slices() }
}

/** The SMTP ports of this process. Their certificate is read, or made, when they open. */
async function openPorts({ config, clock }: World, all: readonly SmtpPort[], ports: App['ports']): Promise<void> {
  const doors = all.filter(({ role }) => config.ROLES.has(role))
  if (doors.length === 0) return
  const tls = await loadTlsIdentity(config, clock)
  for (const door of doors) ports[door.role] = await door.listen(tls)
}

async function readinessChecks(world: World, state: { isStopping: boolean }): Promise<ReadinessCheck[]> {
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
    { name: 'shutdown', run: async () => (state.isStopping ? 'stopping' : null) },
  ]
}

async function listen(http: FastifyInstance, config: Config): Promise<string> {
  const url = await http.listen({ port: config.PORT, host: config.HOST })
  return url.replace('[::1]', 'localhost')
}
