// How deep the queue is, for the endpoint and the metrics that show it.
import type { Static } from 'typebox'
import { DateTime, Int64, NamedObject, Nullable } from '../../platform/http/schemas.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { countQueue, type StatusCount } from './queries.ts'

export const QueueDepth = NamedObject('QueueDepth', {
  queued: Int64(),
  held: Int64(),
  sending: Int64(),
  deferred: Int64(),
  oldest_due_at: Nullable(DateTime({ description: 'When the oldest recipient that could be sent now became due' })),
})
export type QueueDepth = Static<typeof QueueDepth>

export const readQueueDepth = async (world: World, reach: Reach): Promise<QueueDepth> =>
  toDepth(await countQueue(world.db.lists, reach, world.clock.now()))

export function toDepth(counts: readonly StatusCount[]): QueueDepth {
  const of = (status: StatusCount['status']): number => counts.find(each => each.status === status)?.count ?? 0
  const due = counts.flatMap(each => (each.oldest_due_at ? [each.oldest_due_at.toISOString()] : [])).toSorted()
  return {
    queued: of('queued'),
    held: of('held'),
    sending: of('sending'),
    deferred: of('deferred'),
    oldest_due_at: due[0] ?? null,
  }
}
