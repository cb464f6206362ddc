// How much waits to be delivered.
import Type, { type Static } from 'typebox'
import { endpoint, key } from '../../platform/http/contract.ts'
import { component, DateTime, Int64, Nullable } from '../../platform/http/schemas.ts'

export const QueueDepth = component(
  'QueueDepth',
  Type.Object({
    queued: Int64(),
    held: Int64(),
    sending: Int64(),
    deferred: Int64(),
    oldest_due_at: Nullable(DateTime({ description: 'When the oldest recipient that could be sent now became due' })),
  }),
)
export type QueueDepth = Static<typeof QueueDepth>

export const getQueueEndpoint = endpoint({
  method: 'GET',
  path: '/v1/queue',
  summary: 'Queue depth per delivery status',
  access: key('read'),
  replies: { 200: QueueDepth },
  audit: null,
})
