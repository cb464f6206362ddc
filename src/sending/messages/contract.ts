// Sending a message, and reading what became of it.
import type { Static } from 'typebox'
import { get, key, post } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { BODY_BYTES_MAX, IdempotencyHeader, SEND_REFUSALS, SendRequest, SendResponse, TextMap } from './send-schema.ts'

const DELIVERY_STATUSES = [
  'queued',
  'sending',
  'deferred',
  'held',
  'delivered',
  'bounced',
  'blocked',
  'complained',
  'suppressed',
  'expired',
  'cancelled',
] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

const messageFields = {
  id: Uuid(),
  tenant_id: Uuid(),
  from: Type.String(),
  subject: Nullable(Type.String()),
  rfc_message_id: Type.String(),
  tags: Type.Array(Type.String()),
  metadata: TextMap,
  size: Int64({ description: 'Bytes of the source' }),
  api_key_id: Nullable(Uuid()),
  credential_id: Nullable(Uuid()),
  counts: Type.Object(Object.fromEntries(DELIVERY_STATUSES.map(status => [status, Type.Optional(Int64())])), {
    description: 'Recipients per status; statuses without recipients are left out',
  }),
  created_at: DateTime(),
}

export const Message = NamedObject('Message', messageFields)
export type Message = Static<typeof Message>

export const Delivery = NamedObject('Delivery', {
  recipient: Type.String(),
  kind: Type.Enum(['to', 'cc', 'bcc']),
  status: Type.Enum([...DELIVERY_STATUSES]),
  attempts: Int64(),
  next_attempt_at: Nullable(DateTime()),
  smtp_code: Nullable(Type.Integer()),
  enhanced_code: Nullable(Type.String()),
  response: Nullable(Type.String()),
  mx_host: Nullable(Type.String()),
  bounce_type: Nullable(Type.Enum(['hard', 'soft'])),
  suspension_id: Nullable(Uuid()),
  updated_at: DateTime(),
})
export type Delivery = Static<typeof Delivery>

const MessageDetail = NamedObject('MessageDetail', { ...messageFields, deliveries: Type.Array(Delivery) })

export const sendEndpoint = post('/v1/messages', {
  summary: 'Send a message: 202 means that every recipient is durably stored',
  access: key('send'),
  headers: IdempotencyHeader,
  body: SendRequest,
  bodyBytesMax: BODY_BYTES_MAX,
  textRefusal: 'invalid_message',
  replies: { 202: SendResponse },
  refusals: [...SEND_REFUSALS, 'not_found', 'idempotency_conflict'],
  audit: 'message.send',
})

export const listMessagesEndpoint = get('/v1/messages', {
  summary: 'List messages with per-status recipient counts, newest first',
  access: key('read'),
  query: PageQuery({
    tenant_id: Type.Optional(Uuid()),
    recipient: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
    from: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'Sender address' })),
    status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
    since: Type.Optional(DateTime()),
    until: Type.Optional(DateTime()),
    before: Type.Optional(DateTime({ description: 'Only messages accepted before this moment' })),
  }),
  replies: { 200: Page({ messages: Type.Array(Message) }) },
  refusals: ['not_found'],
})

export const getMessageEndpoint = get('/v1/messages/{id}', {
  summary: 'A message with the state of each delivery',
  access: key('read'),
  isLargeRead: true,
  replies: { 200: MessageDetail },
})
