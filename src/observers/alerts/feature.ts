// Alerts, and the people who are told of them.
import type { Feature } from '../../platform/feature.ts'
import { cidrList } from '../../platform/net/cidr.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'
import type { World } from '../../platform/world.ts'
import type { Ways } from './channels.ts'
import { alertWorkers } from './workers.ts'
import { notificationWorker } from './notification-worker.ts'
import { alertRoutes } from './routes.ts'

export function feature(world: World, { sendMail, approvalLink }: Pick<Ways, 'sendMail' | 'approvalLink'>): Feature {
  const { dns, http } = world
  // The paging service is the operator's own choice, so it may stand anywhere.
  const paging = new GuardedHttp({ dns, allowed: cidrList(['0.0.0.0/0', '::/0']) })
  const notifications = notificationWorker(world, { sendMail, approvalLink, http, paging })
  const { drain, close } = notifications.feature
  return {
    routes: alertRoutes(world),
    workers: alertWorkers(notifications),
    drain,
    close: requestsEnd => close(requestsEnd.then(() => paging.close())),
  }
}
