// Every feature's routes and loops, by name, and what lives beside the World and is shared by several of them.
import { feedbackRoutes } from './control/feedback/routes.ts'
import { suspensionRoutes } from './control/suspensions/routes.ts'
import { accountRoutes } from './identity/accounts/routes.ts'
import { apiKeyRoutes } from './identity/api-keys/routes.ts'
import { SigningKeys } from './identity/domains/signing-keys.ts'
import { domainLoops } from './identity/domains/loops.ts'
import { domainRoutes } from './identity/domains/routes.ts'
import { smtpCredentialLoops } from './identity/smtp-credentials/loops.ts'
import { smtpCredentialRoutes } from './identity/smtp-credentials/routes.ts'
import { tenantRoutes } from './identity/tenants/routes.ts'
import { complain } from './sending/delivery/complain.ts'
import { Courier } from './sending/delivery/courier.ts'
import { deliveryLoops } from './sending/delivery/loops.ts'
import { moveAll } from './sending/delivery/hand-over.ts'
import { moveSome } from './sending/delivery/move-held.ts'
import { settleStragglers } from './sending/delivery/park-late.ts'
import { Transport } from './smtp/client/transport.ts'
import { Gate } from './sending/messages/gate.ts'
import { messageLoops } from './sending/messages/loops.ts'
import { messageRoutes } from './sending/messages/routes.ts'
import { setAsideRoutes } from './sending/set-aside/routes.ts'
import { unsubscribeRoutes } from './sending/unsubscribe/routes.ts'
import { usageRoutes } from './sending/usage/routes.ts'
import { alertLoops } from './observers/alerts/loops.ts'
import { notificationWorker } from './observers/alerts/notification-worker.ts'
import { alertRoutes } from './observers/alerts/routes.ts'
import { auditLoops } from './observers/audit/loops.ts'
import { auditRoutes } from './observers/audit/routes.ts'
import { eventRoutes } from './observers/events/routes.ts'
import { metricLoops } from './observers/metrics/loops.ts'
import { metricRoutes } from './observers/metrics/routes.ts'
import { overviewRoutes } from './observers/overview/routes.ts'
import { guardianLoops } from './observers/guardian/loops.ts'
import { guardianRoutes } from './observers/guardian/routes.ts'
import { queueRoutes } from './observers/queue/routes.ts'
import { reputationRoutes } from './observers/reputation/routes.ts'
import { GuardedHttp } from './platform/net/guarded-http.ts'
import { webhookLoops } from './observers/webhooks/loops.ts'
import { pushWorker } from './observers/webhooks/push-worker.ts'
import { webhookRoutes } from './observers/webhooks/routes.ts'
import type { Route } from './platform/http/contract.ts'
import { journalLoops } from './platform/journal/partitions.ts'
import type { Worker } from './platform/work/worker.ts'
import { cidrList } from './platform/net/cidr.ts'
import type { World } from './platform/world.ts'
import { operatorMail } from './operator-mail.ts'

export interface Features {
  gate: Gate
  routes: Route[]
  /** Every loop of the service; the worker role runs them. */
  loops: Worker[]
  /** Lets what is under way end, for a while. */
  close(): Promise<void>
}

/** Attempts under way get this long to end when the process is asked to; the leases of the others give them back. */
const DRAIN_MS_MAX = 8_000
/** The last part of it is for recording the requests that are cut then. */
const RECORD_MS_MAX = 2_000

export function buildFeatures(world: World, { publicUrl }: { publicUrl: () => string }): Features {
  const gate = new Gate(world)
  const transport = openTransport(world)
  const courier = new Courier(world, { transport, keys: new SigningKeys(world) })
  const { dns, http } = world
  const paging = new GuardedHttp({ dns, allowed: cidrList(['0.0.0.0/0', '::/0']) })
  const pushes = pushWorker(world, http)
  const notifications = notificationWorker(world, { sendMail: operatorMail(world, gate), http, paging })
  return {
    gate,
    routes: routesOf(world, { gate, publicUrl }),
    loops: [
      ...journalLoops,
      ...auditLoops,
      ...domainLoops,
      ...smtpCredentialLoops,
      ...messageLoops,
      ...deliveryLoops(courier),
      ...metricLoops,
      ...webhookLoops(pushes),
      ...guardianLoops(),
      ...alertLoops(notifications),
    ],
    close: async () => {
      const requestsEnd = async (): Promise<void> => {
        const workers = [pushes, notifications]
        await Promise.all(workers.map(worker => worker.drain(DRAIN_MS_MAX - RECORD_MS_MAX)))
        await Promise.all([http.close(), paging.close()])
        await Promise.all(workers.map(worker => worker.close(RECORD_MS_MAX)))
      }
      await Promise.all([courier.drain(DRAIN_MS_MAX), requestsEnd()])
      await transport.close()
    },
  }
}

interface Shared {
  gate: Gate
  publicUrl: () => string
}

const routesOf = (world: World, { gate, publicUrl }: Shared): Route[] => [
  ...accountRoutes(world),
  ...tenantRoutes(world),
  ...apiKeyRoutes(world),
  ...domainRoutes(world),
  ...smtpCredentialRoutes(world),
  ...messageRoutes(world, gate, publicUrl),
  ...usageRoutes(world),
  ...unsubscribeRoutes(world),
  ...feedbackRoutes(world, complain),
  ...suspensionRoutes(world, { some: moveSome, all: moveAll, late: settleStragglers }),
  ...queueRoutes(world),
  ...setAsideRoutes(world),
  ...webhookRoutes(world, world),
  ...eventRoutes(world),
  ...metricRoutes(world),
  ...reputationRoutes(world),
  ...overviewRoutes(world),
  ...auditRoutes(world),
  ...guardianRoutes(world),
  ...alertRoutes(world, world.dns),
]

function openTransport({ config, clock, dns, metrics }: World): Transport {
  const transport = new Transport({
    helloName: config.MX_HOST,
    routes: config.SMTP_ROUTES,
    dns,
    allowPrivate: config.DELIVERY_ALLOW_CIDRS,
    clock,
  })
  metrics.gauge('sluice_smtp_connections', 'Connections to receivers', ['host'], gauge => {
    gauge.reset()
    for (const [host, count] of transport.connectionsByHost()) gauge.set({ host }, count)
  })
  return transport
}
