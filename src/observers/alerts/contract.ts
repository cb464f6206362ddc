// Alerts, and whom to tell of them.
import type { Static } from 'typebox'
import { del, get, key, post } from '../../platform/http/contract.ts'
import { DateTime, NamedObject, Nullable, Page, PageQuery, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

export const SEVERITIES = ['info', 'warning', 'critical'] as const
const CHANNELS = ['email', 'webhook', 'chat', 'paging'] as const

export const Alert = NamedObject('Alert', {
  id: Uuid(),
  tenant_id: Nullable(Uuid()),
  kind: Type.String({ description: 'rule, domain_unverified, webhook_disabled, message_set_aside, …' }),
  severity: Type.Enum([...SEVERITIES]),
  title: Type.String({ description: 'One sentence for a person' }),
  scope: Nullable(Type.String({ description: 'type:value, where it is about a scope that can be paused' })),
  rule_id: Nullable(Uuid()),
  rule: Nullable(Type.String({ description: 'Name of the rule that fired' })),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Of rules: metric, value, threshold, volume, window_seconds, action, sample, top_recipient_domains',
  }),
  created_at: DateTime(),
  acked_at: Nullable(DateTime()),
  acked_by: Nullable(Type.String({ description: 'Name of the key' })),
})
export type Alert = Static<typeof Alert>

export const listAlertsEndpoint = get('/v1/alerts', {
  summary: 'List alerts, newest first',
  access: key('read'),
  query: PageQuery({
    unacked: Type.Optional(Type.Enum(['1'], { description: 'Only those that nobody has acknowledged' })),
  }),
  replies: { 200: Page({ alerts: Type.Array(Alert) }) },
})

export const ackAlertEndpoint = post('/v1/alerts/{id}/ack', {
  summary: 'Acknowledge an alert; doing so again changes nothing',
  access: key('suspend'),
  replies: { 204: null },
  audit: 'alert.ack',
})

const contactFields = {
  id: Uuid(),
  channel: Type.Enum([...CHANNELS]),
  target: Type.String(),
  min_severity: Type.Enum([...SEVERITIES]),
  status: Type.Enum(['active', 'failing'], {
    description: 'failing: the last try failed, or the last mail bounced; further alerts are tried all the same',
  }),
  created_at: DateTime(),
  last_delivered_at: Nullable(DateTime()),
  last_failed_at: Nullable(DateTime()),
  last_error: Nullable(Type.String({ description: 'Why the last failed try failed' })),
}

export const AlertContact = NamedObject('AlertContact', contactFields)
export type AlertContact = Static<typeof AlertContact>

export const AlertContactWithSecret = NamedObject('AlertContactWithSecret', {
  ...contactFields,
  secret: Type.Optional(
    Type.String({ ...sensitive, description: 'Of webhooks: the key of X-Service-Signature, shown once' }),
  ),
})
export type AlertContactWithSecret = Static<typeof AlertContactWithSecret>

const AlertContactCreate = NamedObject('AlertContactCreate', {
  channel: Type.Enum([...CHANNELS]),
  target: Type.String({
    ...sensitive,
    minLength: 1,
    maxLength: 2000,
    examples: ['oncall@example.com'],
    description:
      'email: an address; webhook: a URL that gets a signed POST; chat: a URL that gets {"text": …}; paging: a ' +
      'routing key (PagerDuty Events v2). URLs at private addresses are refused.',
  }),
  min_severity: Type.Optional(Type.Enum([...SEVERITIES], { default: 'warning' })),
})
export type AlertContactCreate = Static<typeof AlertContactCreate>

export const listContactsEndpoint = get('/v1/alert-contacts', {
  summary: 'List alert contacts, newest first',
  access: key('admin'),
  query: PageQuery({}),
  replies: { 200: Page({ contacts: Type.Array(AlertContact) }) },
})

export const createContactEndpoint = post('/v1/alert-contacts', {
  summary: 'Add somebody to tell of alerts of this severity or above',
  access: key('admin'),
  body: AlertContactCreate,
  replies: { 201: AlertContactWithSecret },
  refusals: ['conflict'],
  audit: 'alert_contact.create',
})

export const deleteContactEndpoint = del('/v1/alert-contacts/{id}', {
  summary: 'Remove an alert contact; what it was not told yet is not sent',
  access: key('admin'),
  replies: { 204: null },
  audit: 'alert_contact.delete',
})
