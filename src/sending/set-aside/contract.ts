// Mail that was set aside because workers died of it: seeing it, and deciding what becomes of it.
import type { Static } from 'typebox'
import { get, key, post } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const named = {
  id: Uuid({ description: 'Of this delivery while it is set aside' }),
  message_id: Uuid(),
  tenant_id: Uuid(),
  recipient: Type.String(),
}

const SetAside = NamedObject('SetAside', {
  ...named,
  reason: Type.Enum(['crashes'], { description: 'Workers died while they were sending it' }),
  crashes: Int64({ description: 'How many workers that were' }),
  attempts: Int64(),
  set_aside_at: DateTime({ description: 'It expires when the hold time of the account is over' }),
})
export type SetAside = Static<typeof SetAside>

const SetAsideDecided = NamedObject('SetAsideDecided', {
  ...named,
  status: Type.Enum(['queued', 'held', 'cancelled'], { description: 'Held when a pause matches what was released' }),
  suspension_id: Nullable(Uuid({ description: 'The pause that holds it now' })),
})
export type SetAsideDecided = Static<typeof SetAsideDecided>

export const listSetAsideEndpoint = get('/v1/set-aside', {
  summary: 'Deliveries that were set aside because workers died of them, newest first',
  access: key('admin'),
  query: PageQuery({ tenant_id: Type.Optional(Uuid()) }),
  replies: { 200: Page({ deliveries: Type.Array(SetAside) }) },
  refusals: ['not_found'],
})

export const releaseSetAsideEndpoint = post('/v1/set-aside/{id}/release', {
  summary: 'Queue a delivery that was set aside, with its crashes forgotten',
  access: key('admin'),
  noun: 'delivery',
  replies: { 200: SetAsideDecided },
  audit: 'set_aside.release',
})

export const cancelSetAsideEndpoint = post('/v1/set-aside/{id}/cancel', {
  summary: 'Cancel a delivery that was set aside',
  access: key('admin'),
  noun: 'delivery',
  replies: { 200: SetAsideDecided },
  audit: 'set_aside.cancel',
})
