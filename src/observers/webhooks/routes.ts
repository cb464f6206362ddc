// Handlers of /v1/webhooks, and the gauge of what waits for Prometheus.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage, readPageBy } from '../../platform/http/paging.ts'
import { seldom } from '../../platform/seldom.ts'
import type { World } from '../../platform/world.ts'
import { countWaitingAnywhere, listAttempts } from './attempt-queries.ts'
import { deleteWebhook, rotateSecret, setWebhookStatus } from './change.ts'
import * as contract from './contract.ts'
import { createWebhook } from './create.ts'
import { listWebhooks, requireWebhook } from './queries.ts'
import { replay } from './replay.ts'
import { tryOut } from './try-out.ts'

export function webhookRoutes(world: World): Route[] {
  observeWaiting(world)
  return [
    route(contract.createWebhookEndpoint, async ({ by, caller, body }) =>
      reply(201, await createWebhook(world, by, { reach: caller.reach, wanted: body })),
    ),
    route(contract.listWebhooksEndpoint, async ({ caller, query }) => {
      const { rows, next_cursor } = await readPage(world.secrets, 'webhooks', query, keyset =>
        listWebhooks(world.db.lists, caller.reach, keyset),
      )
      return reply(200, { webhooks: rows, next_cursor })
    }),
    route(contract.updateWebhookEndpoint, ({ by, caller, params, body }) =>
      done(setWebhookStatus(world, by, { reach: caller.reach, id: params.id }, body.status)),
    ),
    route(contract.deleteWebhookEndpoint, ({ by, caller, params }) =>
      done(deleteWebhook(world, by, { reach: caller.reach, id: params.id })),
    ),
    ...attemptRoutes(world),
    route(contract.rotateWebhookEndpoint, async ({ by, caller, params }) =>
      reply(200, await rotateSecret(world, by, { reach: caller.reach, id: params.id })),
    ),
    route(contract.testWebhookEndpoint, async ({ by, caller, params }) => {
      const result = await tryOut(world, by, { reach: caller.reach, id: params.id, client: world.http })
      return reply(200, {
        delivered: result.error === null,
        response_status: result.responseStatus,
        latency_ms: result.latencyMs,
        error: result.error,
      })
    }),
  ]
}

const attemptRoutes = (world: World): Route[] => [
  route(contract.listAttemptsEndpoint, async ({ caller, params, query }) => {
    const list = `webhook-attempts/${params.id}`
    const { rows, next_cursor } = await readPageBy(BY_EVENT, world.secrets, list, query, async keyset => {
      await requireWebhook(world.db, caller.reach, params.id)
      return listAttempts(world.db.lists, params.id, { status: query.status ?? null, ...keyset })
    })
    return reply(200, { attempts: rows, next_cursor })
  }),
  route(contract.replayEndpoint, async ({ by, caller, params, query }) => {
    const since = query.since === undefined ? null : new Date(query.since)
    return reply(200, { requeued: await replay(world, by, { reach: caller.reach, id: params.id }, since) })
  }),
]

const BY_EVENT = {
  isPosition: (value: unknown): value is number => typeof value === 'number',
  positionOf: (attempt: contract.WebhookAttempt) => attempt.event_id,
}

/** A scrape must answer while the database is away. */
function observeWaiting({ metrics, db }: World): void {
  const help = 'Webhook attempts that are not decided, by status'
  const counted = seldom(() => countWaitingAnywhere(db))
  metrics.gauge('sluice_webhook_attempts_waiting', help, ['status'], async gauge => {
    const counts = await counted().catch(() => [])
    for (const status of ['pending', 'failed'] as const) {
      gauge.set({ status }, counts.find(each => each.status === status)?.count ?? 0)
    }
  })
}
