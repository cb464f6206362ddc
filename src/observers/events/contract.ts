// The event log.
import type { Static } from 'typebox'
import { get, key } from '../../platform/http/contract.ts'
import { BeforeId, DateTime, Int64, Limit, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { EVENT_TYPES } from './event-types.ts'

export const Event = NamedObject('Event', {
  id: Int64({ description: 'Unique and increasing, in the order in which things became true' }),
  type: Type.Enum([...EVENT_TYPES]),
  account_id: Uuid(),
  tenant_id: Nullable(Uuid()),
  message_id: Nullable(Uuid()),
  recipient: Nullable(Type.String()),
  created_at: DateTime(),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'What the type adds' }),
})
export type Event = Static<typeof Event>

export const listEventsEndpoint = get('/v1/events', {
  summary: 'List events, newest first; with after_id oldest first from there, for catching up',
  access: key('read'),
  query: Type.Object({
    type: Type.Optional(Type.Enum([...EVENT_TYPES])),
    tenant_id: Type.Optional(Uuid()),
    message_id: Type.Optional(Uuid()),
    recipient: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
    before_id: BeforeId,
    after_id: Type.Optional(Int64({ description: 'Only ids above this one, ascending' })),
    limit: Limit,
  }),
  replies: {
    200: Type.Object({
      events: Type.Array(Event),
      next_before_id: Nullable(Int64({ description: 'before_id of the next page, null on the last' })),
      next_after_id: Type.Optional(
        Int64({ description: 'With after_id: where to go on from, also when nothing is new' }),
      ),
    }),
  },
  refusals: ['not_found'],
})
