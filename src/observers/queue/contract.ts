// How much waits to be delivered.
import { get, key } from '../../platform/http/contract.ts'
import { QueueDepth } from './depth.ts'

export const getQueueEndpoint = get('/v1/queue', {
  summary: 'Queue depth per delivery status',
  access: key('read'),
  isLargeRead: true,
  replies: { 200: QueueDepth },
})
