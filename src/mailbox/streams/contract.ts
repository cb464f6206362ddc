// Streams of an inbox: its events as they happen, from any id on.
import type { Static } from 'typebox'
import { get, key } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'

/** What a stream carries: one event of server-sent events, one text message of WebSocket. */
const StreamFrame = NamedObject('StreamFrame', {
  id: Int64({ description: 'Where to resume from: `Last-Event-ID` or `after_id`' }),
  type: Type.String({
    description:
      'The kind of event, such as `message.received`; `stream.reset` where events are gone, and it goes on from `id`',
  }),
  inbox_id: Uuid(),
  created_at: DateTime(),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'What the kind adds' }),
})
export type StreamFrame = Static<typeof StreamFrame>

const AfterId = Type.Optional(Int64({ description: 'Only events above this id; without it: from now on' }))

export const inboxEventsEndpoint = get('/v1/inboxes/{id}/events', {
  summary: 'Follow the events of an inbox as server-sent events',
  access: key('read', { levels: LEVELS }),
  stream: 'sse',
  query: Type.Object({ after_id: AfterId }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Int64({ description: 'As browsers send it when they reconnect; goes before after_id' }),
    ),
  }),
  replies: { 200: { raw: 'text/event-stream', frame: StreamFrame } },
  refusals: ['too_many_streams'],
})

export const inboxSocketEndpoint = get('/v1/inboxes/{id}/ws', {
  summary: 'Follow the events of an inbox over WebSocket; browsers offer the key as the subprotocol svc.<key>',
  access: key('read', { levels: LEVELS }),
  stream: 'websocket',
  query: Type.Object({ after_id: AfterId }),
  replies: { 101: null },
  refusals: ['too_many_streams'],
})
