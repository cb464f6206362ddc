// Sending a message, and reading what became of it.
import Type, { type Static } from 'typebox'
import { endpoint, key } from '../../platform/http/contract.ts'
import {
  component,
  Cursor,
  DateTime,
  Int64,
  Limit,
  NextCursor,
  Nullable,
  sensitive,
  Uuid,
} from '../../platform/http/schemas.ts'

import { RECIPIENTS_MAX } from './limits.ts'

const Text = (options: object = {}) => Type.String({ ...sensitive, ...options })
/** Counted after de-duplication; twice as many as there may be are too many whatever they are. */
const Addresses = (options: object = {}) =>
  Type.Array(Type.String({ maxLength: 1000 }), {
    maxItems: 2 * RECIPIENTS_MAX,
    'x-too-many': 'too_many_recipients',
    ...options,
  })
/** More than any message may have; the exact number is told with 422. */
const ITEMS_MAX = 1_000
const TextMap = Type.Record(Type.String(), Type.String(), { maxProperties: ITEMS_MAX })

const Attachment = component(
  'Attachment',
  Type.Object({
    content: Text({ description: 'Base64' }),
    filename: Type.Optional(Type.String()),
    content_type: Type.Optional(Type.String({ default: 'application/octet-stream' })),
    content_id: Type.Optional(Type.String({ description: 'For inline cid: references in the HTML' })),
    inline: Type.Optional(Type.Boolean({ default: false })),
  }),
)

const SendRequest = component(
  'SendRequest',
  Type.Object({
    tenant_id: Type.Optional(Uuid({ description: 'Required for account-wide keys' })),
    from: Type.String({ description: 'Address, a display name allowed', examples: ['Acme <hello@acme.sluice.test>'] }),
    to: Addresses({ examples: [['someone@example.com']] }),
    cc: Type.Optional(Addresses()),
    bcc: Type.Optional(Addresses()),
    reply_to: Type.Optional(Type.String()),
    subject: Type.Optional(Text()),
    text: Type.Optional(Text()),
    html: Type.Optional(Text()),
    headers: Type.Optional(TextMap),
    tags: Type.Optional(Type.Array(Type.String(), { maxItems: ITEMS_MAX })),
    metadata: Type.Optional(TextMap),
    idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    attachments: Type.Optional(Type.Array(Attachment, { maxItems: 1000 })),
    unsubscribe: Type.Optional(Type.Boolean({ description: 'Adds one-click unsubscribe headers (RFC 8058)' })),
  }),
)
export type SendRequest = Static<typeof SendRequest>

export const SendResponse = component(
  'SendResponse',
  Type.Object({
    message_id: Uuid(),
    queued: Int64({ description: 'Recipients queued' }),
    held: Int64({ description: 'Recipients parked because a pause applies' }),
    suppressed: Int64({ description: 'Recipients skipped as suppressed' }),
    duplicate: Type.Boolean({ description: 'The idempotency key matched an earlier submission' }),
    hold_scope: Type.Optional(Type.String({ description: 'The scope that caused a hold: <scope_type>:<scope_value>' })),
  }),
)
export type SendResponse = Static<typeof SendResponse>

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

export const Message = component('Message', Type.Object(messageFields))
export type Message = Static<typeof Message>

export const Delivery = component(
  'Delivery',
  Type.Object({
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
  }),
)
export type Delivery = Static<typeof Delivery>

export const MessageDetail = component(
  'MessageDetail',
  Type.Object({ ...messageFields, deliveries: Type.Array(Delivery) }),
)
export type MessageDetail = Static<typeof MessageDetail>

export const sendEndpoint = endpoint({
  method: 'POST',
  path: '/v1/messages',
  summary: 'Send a message: 202 means that every recipient is durably stored',
  access: key('send'),
  headers: Type.Object({ 'idempotency-key': Type.Optional(Type.String({ minLength: 1, maxLength: 255 })) }),
  body: SendRequest,
  bodyBytesMax: 40 * 1024 * 1024,
  textRefusal: 'invalid_message',
  replies: { 202: SendResponse },
  refusals: [
    'invalid_message',
    'domain_not_verified',
    'too_many_recipients',
    'attachments_too_large',
    'tenant_disabled',
    'sending_suspended',
    'not_found',
    'idempotency_conflict',
    'rate_limited',
    'quota_exceeded',
  ],
  audit: 'message.send',
})

export const listMessagesEndpoint = endpoint({
  method: 'GET',
  path: '/v1/messages',
  summary: 'List messages with per-status recipient counts, newest first',
  access: key('read'),
  query: Type.Object({
    tenant_id: Type.Optional(Uuid()),
    recipient: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
    from: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'Sender address' })),
    status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
    since: Type.Optional(DateTime()),
    until: Type.Optional(DateTime()),
    before: Type.Optional(DateTime({ description: 'Only messages accepted before this moment' })),
    cursor: Cursor,
    limit: Limit,
  }),
  replies: { 200: Type.Object({ messages: Type.Array(Message), next_cursor: NextCursor }) },
  audit: null,
})

export const getMessageEndpoint = endpoint({
  method: 'GET',
  path: '/v1/messages/{id}',
  summary: 'A message with the state of each delivery',
  access: key('read'),
  noun: 'message',
  isLargeRead: true,
  replies: { 200: MessageDetail },
  audit: null,
})
