// The composition root: builds the World and lists, by name, every feature's routes and loops.
import type { FastifyInstance } from 'fastify'
import { feedbackRoutes } from './control/feedback/routes.ts'
import { PauseBoard } from './control/suspensions/board.ts'
import { Gatekeeper } from './identity/access/authenticate.ts'
import { accountRoutes } from './identity/accounts/routes.ts'
import { apiKeyRoutes } from './identity/api-keys/routes.ts'
import { SigningKeys } from './identity/domains/signing-keys.ts'
import { domainLoops } from './identity/domains/loops.ts'
import { domainRoutes } from './identity/domains/routes.ts'
import { smtpCredentialLoops } from './identity/smtp-credentials/loops.ts'
import { smtpCredentialRoutes } from './identity/smtp-credentials/routes.ts'
import { SmtpGatekeeper } from './identity/smtp-credentials/authenticate.ts'
import { tenantRoutes } from './identity/tenants/routes.ts'
import { MxServer } from './mailbox/inbound/server.ts'
import { complain } from './sending/delivery/complain.ts'
import { Courier } from './sending/delivery/courier.ts'
import { deliveryLoops } from './sending/delivery/loops.ts'
import { Transport } from './sending/delivery/transport/transport.ts'
import { Gate } from './sending/messages/gate.ts'
import { messageLoops } from './sending/messages/loops.ts'
import { messageRoutes } from './sending/messages/routes.ts'
import { SubmissionServer } from './sending/submission/server.ts'
import { unsubscribeRoutes } from './sending/unsubscribe/routes.ts'
import { usageRoutes } from './sending/usage/routes.ts'
import type { SendMail } from './observers/alerts/channels.ts'
import { alertLoops } from './observers/alerts/loops.ts'
import { alertRoutes } from './observers/alerts/routes.ts'
import { entryMac } from './observers/audit/chain.ts'
import { auditLoops } from './observers/audit/loops.ts'
import { auditRoutes } from './observers/audit/routes.ts'
import { eventRoutes } from './observers/events/routes.ts'
import { guardianLoops } from './observers/guardian/loops.ts'
import { guardianRoutes } from './observers/guardian/routes.ts'
import { queueRoutes } from './observers/queue/routes.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import { Database } from './platform/db/database.ts'
import { claimInstallation } from './platform/db/installation.ts'
import { pendingMigrations, readMigrations } from './platform/db/migrate.ts'
import type { Contract, Route } from './platform/http/contract.ts'
import { docsRoutes, mountReference } from './platform/http/docs.ts'
import { databaseChecks, healthRoutes, type ReadinessCheck } from './platform/http/health.ts'
import { openApiDocument } from './platform/http/openapi.ts'
import { createHttpServer } from './platform/http/server.ts'
import { journalLoops } from './platform/journal/partitions.ts'
import { tailLag } from './platform/loops/lag.ts'
import type { Loop } from './platform/loops/loop.ts'
import { Supervisor } from './platform/loops/supervisor.ts'
import type { Log } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { loadTlsIdentity } from './platform/tls.ts'
import type { Secrets } from './platform/secrets.ts'
import { Wakeups } from './platform/db/wakeups.ts'
import type { World } from './platform/world.ts'

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
  loops: readonly Loop[]
  /** Where the API listens; null without the role. */
  url: string | null
  /** Where SMTP listens; null without the role. */
  ports: { submission: number | null; mx: number | null }
  start(): Promise<void>
  stop(): Promise<void>
}

/** Until the installation has an address of its own to send from. */
const sendMail: SendMail = () => Promise.reject(new Error('mail of the installation itself is not set up'))

/** Every loop of the service; the worker role runs them. */
const loopsOf = ({ courier }: Features): Loop[] => [
  ...journalLoops,
  ...auditLoops,
  ...domainLoops,
  ...smtpCredentialLoops,
  ...messageLoops,
  ...deliveryLoops(courier),
  ...guardianLoops(),
  ...alertLoops(sendMail),
]

/** What lives beside the World and is shared by several doors. */
interface Features {
  gate: Gate
  courier: Courier
  publicUrl: () => string
}

const featureRoutes = (world: World, { gate, publicUrl }: Features): Route[] => [
  ...accountRoutes(world),
  ...tenantRoutes(world),
  ...apiKeyRoutes(world),
  ...domainRoutes(world),
  ...smtpCredentialRoutes(world),
  ...messageRoutes(world, gate, publicUrl),
  ...usageRoutes(world),
  ...unsubscribeRoutes(world),
  ...feedbackRoutes(world, complain),
  ...queueRoutes(world),
  ...eventRoutes(world),
  ...auditRoutes(world),
  ...guardianRoutes(world),
  ...alertRoutes(world),
]

export async function buildApp(options: AppOptions): Promise<App> {
  const { config, databaseUrl, adminToken } = options
  const world = buildWorld(options)
  const gatekeeper = new Gatekeeper(world, adminToken)
  const board = new PauseBoard(world)
  const supervisor = new Supervisor(world)
  const state = { isStopping: false }
  const checks = await readinessChecks(world, board, state)
  const transport = openTransport(world)
  const features: Features = {
    gate: new Gate(world),
    courier: new Courier(world, transport, new SigningKeys(world)),
    publicUrl: () => config.PUBLIC_URL ?? app.url ?? '',
  }
  let document = ''
  const routes = [
    ...featureRoutes(world, features),
    ...healthRoutes(checks),
    ...docsRoutes(world, { document: () => document, adminToken }),
  ]
  const contracts = routes.map(route => route.contract)
  document = JSON.stringify(describeApi(contracts))
  const http = createHttpServer(world, { routes, identify: credentials => gatekeeper.identify(credentials) })
  await mountReference(http)

  const smtp = smtpDoors(world, features.gate)
  const loops = loopsOf(features)
  const app: App = {
    world,
    contracts,
    loops,
    url: null,
    ports: { submission: null, mx: null },
    start: async () => {
      await claimInstallation(world.db, world.secrets)
      world.wakeups.listen(databaseUrl)
      board.start()
      await smtp.listen(app.ports)
      // Last: whoever finds us ready finds every door open.
      if (config.ROLES.has('api')) app.url = await listen(http, config)
      if (config.ROLES.has('worker')) supervisor.start(loops)
    },
    stop: async () => {
      state.isStopping = true
      await Promise.all([http.close(), smtp.close()])
      await Promise.all([supervisor.stop(), board.stop()])
      await features.courier.drain(DRAIN_MS_MAX)
      await transport.close()
      await gatekeeper.uses.flush()
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
  })

function buildWorld({ config, clock, log, databaseUrl, secrets }: AppOptions): World {
  const metrics = createMetrics()
  const wakeups = new Wakeups()
  const db = new Database({
    url: databaseUrl,
    replicaUrl: config.DATABASE_REPLICA_URL,
    connectionsMax: config.DATABASE_POOL,
    clock,
    auditMac: canonical => entryMac(secrets, canonical),
    onAppend: () => wakeups.hint('journal'),
    onError: err => log.debug({ err }, 'an idle database connection was lost'),
  })
  metrics.gauge('sluice_database_connections', 'Connections of this process', ['state'], gauge => {
    for (const [state, count] of Object.entries(db.connections)) gauge.set({ state }, count)
  })
  metrics.gauge('sluice_tail_lag_events', 'Events a tail has not read yet', ['tail'], gauge => tailLag(db, gauge))
  return { config, clock, secrets, db, wakeups, log, metrics }
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

/** Attempts under way get this long to end when the process is asked to; the leases of the others give them back. */
const DRAIN_MS_MAX = 8_000

function openTransport({ config, clock, metrics }: World): Transport {
  const transport = new Transport({
    helloName: config.MX_HOST,
    routes: config.SMTP_ROUTES,
    dnsServers: config.DNS_SERVERS,
    allowPrivate: config.DELIVERY_ALLOW_CIDRS,
    clock,
  })
  metrics.gauge('sluice_smtp_connections', 'Connections to receivers', ['host'], gauge => {
    gauge.reset()
    for (const [host, count] of transport.connectionsByHost()) gauge.set({ host }, count)
  })
  return transport
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
