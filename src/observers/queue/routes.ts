// Handler of /v1/queue, and the queue's gauges for Prometheus.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { seldom } from '../../platform/seldom.ts'
import type { World } from '../../platform/world.ts'
import { getQueueEndpoint } from './contract.ts'
import { readQueueDepth, toDepth } from './depth.ts'
import { countQueueAnywhere } from './queries.ts'

const STATUSES = ['queued', 'held', 'sending', 'deferred'] as const

export function queueRoutes(world: World): Route[] {
  observeQueue(world)
  return [route(getQueueEndpoint, async ({ caller }) => reply(200, await readQueueDepth(world, caller.reach)))]
}

/** A scrape must answer while the database is away. */
function observeQueue({ metrics, db, clock }: World): void {
  const counted = seldom(() => countQueueAnywhere(db, clock.now()))
  const count = () => counted().catch(() => [])
  metrics.gauge('sluice_queue_deliveries', 'Deliveries that are not decided, by status', ['status'], async gauge => {
    const counts = await count()
    for (const status of STATUSES) gauge.set({ status }, counts.find(each => each.status === status)?.count ?? 0)
  })
  metrics.gauge('sluice_queue_oldest_due_seconds', 'How long the oldest due delivery has waited', [], async gauge => {
    const oldest = toDepth(await count()).oldest_due_at
    gauge.set(oldest ? Math.max(0, (clock.now().getTime() - Date.parse(oldest)) / 1000) : 0)
  })
}
