// Webhooks: endpoints that events are pushed to, the attempts, and what can be done about those that went wrong.
import type { Static } from 'typebox'
import { del, get, key, patch, post } from '../../platform/http/contract.ts'
import {
  DateTime,
  Int64,
  NamedObject,
  Nullable,
  Page,
  PageQuery,
  sensitive,
  Uuid,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { EVENT_TYPES, INBOX_EVENT_TYPES } from '../events/event-types.ts'

const STATUSES = ['active', 'disabled'] as const
const ATTEMPT_STATUSES = ['pending', 'failed', 'delivered', 'dead'] as const

const EventTypes = Type.Array(Type.Enum([...EVENT_TYPES, ...INBOX_EVENT_TYPES]), {
  maxItems: 100,
  description:
    'Which events to push; empty means all of the event log. Kinds of inboxes are pushed where they are named',
})

const webhookFields = {
  id: Uuid(),
  tenant_id: Nullable(Uuid({ description: 'Only events of this tenant; null: all of the account' })),
  url: Type.String(),
  event_types: EventTypes,
  status: Type.Enum([...STATUSES]),
  disabled_reason: Nullable(
    Type.Enum(['gone', 'failing'], {
      description: 'Why the service disabled it: it answered 410, or every try failed for five days',
    }),
  ),
  failing_since: Nullable(DateTime({ description: 'The first failure since the last success' })),
  rotated_at: Nullable(DateTime()),
  created_at: DateTime(),
}

export const Webhook = NamedObject('Webhook', webhookFields)
export type Webhook = Static<typeof Webhook>

const WebhookWithSecret = NamedObject('WebhookWithSecret', {
  ...webhookFields,
  secret: Type.String({
    ...sensitive,
    description: 'Shown once. The whole text, `whsec_` included, is the key of the HMAC-SHA256 in X-Service-Signature',
  }),
})

const WebhookCreate = NamedObject('WebhookCreate', {
  url: Type.String({
    format: 'uri',
    maxLength: 2000,
    description: 'http or https, without credentials; private and loopback targets are refused',
  }),
  tenant_id: Type.Optional(Nullable(Uuid())),
  event_types: Type.Optional(EventTypes),
})
export type WebhookCreate = Static<typeof WebhookCreate>

export const WebhookAttempt = NamedObject('WebhookAttempt', {
  id: Uuid(),
  event_id: Int64(),
  event_type: Type.String(),
  status: Type.Enum([...ATTEMPT_STATUSES], {
    description: 'pending: not tried since it was queued or replayed; failed: waits for a retry; dead: given up',
  }),
  attempt: Type.Integer({ minimum: 0, description: 'Tries so far, those before a replay included' }),
  response_status: Nullable(Type.Integer({ description: 'Of the last try; null when there was no answer' })),
  error: Nullable(Type.String({ description: 'What went wrong at the last try' })),
  latency_ms: Nullable(Type.Integer({ minimum: 0, description: 'How long the last try took' })),
  next_attempt_at: Nullable(DateTime({ description: 'Null when decided, and while a try is under way' })),
  created_at: DateTime(),
  updated_at: DateTime(),
})
export type WebhookAttempt = Static<typeof WebhookAttempt>

export const createWebhookEndpoint = post('/v1/webhooks', {
  summary: 'Create a webhook: events from now on are pushed to its URL; its signing secret is shown once',
  access: key('admin'),
  body: WebhookCreate,
  replies: { 201: WebhookWithSecret },
  refusals: ['not_found', 'conflict'],
  audit: 'webhook.create',
})

export const listWebhooksEndpoint = get('/v1/webhooks', {
  summary: 'List webhooks without their secrets, newest first',
  access: key('read'),
  query: PageQuery({}),
  replies: { 200: Page({ webhooks: Type.Array(Webhook) }) },
})

export const updateWebhookEndpoint = patch('/v1/webhooks/{id}', {
  summary:
    'Disable or enable a webhook. While it is disabled, what is queued waits and new events are not queued; enabled ' +
    'again, it goes on with what is queued and with the events from then on',
  access: key('admin'),
  body: NamedObject('WebhookUpdate', { status: Type.Enum([...STATUSES], { examples: ['disabled'] }) }),
  replies: { 204: null },
  audit: 'webhook.update',
})

export const deleteWebhookEndpoint = del('/v1/webhooks/{id}', {
  summary: 'Delete a webhook and its attempts',
  access: key('admin'),
  replies: { 204: null },
  audit: 'webhook.delete',
})

export const listAttemptsEndpoint = get('/v1/webhooks/{id}/attempts', {
  summary:
    'List what was and is to be pushed to a webhook, newest event first; kept 7 days when delivered, 30 when dead',
  access: key('read'),
  query: PageQuery({ status: Type.Optional(Type.Enum([...ATTEMPT_STATUSES])) }),
  replies: { 200: Page({ attempts: Type.Array(WebhookAttempt) }) },
})

export const replayEndpoint = post('/v1/webhooks/{id}/replay', {
  summary:
    'Queue failed and dead attempts again, at once and with all their tries before them; X-Service-Delivery-Attempt ' +
    'goes on counting',
  access: key('admin'),
  query: Type.Object({
    since: Type.Optional(DateTime({ description: 'Only attempts created at this time or later' })),
  }),
  replies: { 200: Type.Object({ requeued: Int64() }) },
  audit: 'webhook.replay',
})

export const rotateWebhookEndpoint = post('/v1/webhooks/{id}/rotate', {
  summary:
    'Make a new signing secret, shown once. For 24 hours the old one signs as well: X-Service-Signature then carries ' +
    'two v1 values, and either proves the request',
  access: key('admin'),
  replies: { 200: WebhookWithSecret },
  audit: 'webhook.rotate',
})

export const testWebhookEndpoint = post('/v1/webhooks/{id}/test', {
  summary:
    'Push a sample event now, signed like any other, and tell what the receiver said. Its type is `test`, its id is 0 ' +
    'and its data says `"test": true`; it is in no journal and is not tried again. Works on a disabled webhook too',
  access: key('admin'),
  replies: {
    200: Type.Object({
      delivered: Type.Boolean({ description: 'Whether the receiver answered 2xx in time' }),
      response_status: Nullable(Type.Integer()),
      latency_ms: Type.Integer({ minimum: 0 }),
      error: Nullable(Type.String()),
    }),
  },
  audit: 'webhook.test',
})
