// Inboxes: addresses that receive mail, and send as themselves.
import type { Static } from 'typebox'
import { del, get, key, patch, post } from '../../platform/http/contract.ts'
import { component, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'
import { Inbox, STATUSES } from './inbox-schema.ts'
import { PolicyPatch } from './policy.ts'

/** More than an inbox may have; the exact numbers are told with 400. */
const Metadata = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 1_000 })
/** Without what could break a header line. */
const DisplayName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$',
})
const InboxCreate = NamedObject('InboxCreate', {
  domain_id: Uuid({ description: 'Of this tenant, verified and inbound-enabled' }),
  local_part: Type.String({ minLength: 1, maxLength: 255, description: 'What stands before the @' }),
  display_name: Type.Optional(Nullable(DisplayName)),
  policy: Type.Optional(PolicyPatch),
  metadata: Type.Optional(Metadata),
})
export type InboxCreate = Static<typeof InboxCreate>

const InboxUpdate = component(
  'InboxUpdate',
  Type.Partial(
    Type.Object({
      display_name: Nullable(DisplayName),
      status: Type.Enum([...STATUSES]),
      policy: PolicyPatch,
      metadata: Metadata,
    }),
  ),
)
export type InboxUpdate = Static<typeof InboxUpdate>

export const createInboxEndpoint = post('/v1/tenants/{id}/inboxes', {
  summary: 'Create an inbox on a verified, inbound-enabled domain of the tenant',
  access: key('admin'),
  body: InboxCreate,
  replies: { 201: Inbox },
  refusals: ['conflict'],
  audit: 'inbox.create',
})

export const listInboxesEndpoint = get('/v1/inboxes', {
  summary: 'List the inboxes visible to the key, newest first',
  access: key('read', { levels: LEVELS }),
  query: PageQuery({ tenant_id: Type.Optional(Uuid({ description: 'Only inboxes of this tenant' })) }),
  replies: { 200: Page({ inboxes: Type.Array(Inbox) }) },
  refusals: ['not_found'],
})

export const getInboxEndpoint = get('/v1/inboxes/{id}', {
  summary: 'Get an inbox',
  access: key('read', { levels: LEVELS }),
  replies: { 200: Inbox },
})

export const updateInboxEndpoint = patch('/v1/inboxes/{id}', {
  summary: 'Change an inbox: the policy is merged field by field, metadata is replaced, absent fields are kept',
  access: key('admin'),
  body: InboxUpdate,
  replies: { 200: Inbox },
  audit: 'inbox.update',
})

export const deleteInboxEndpoint = del('/v1/inboxes/{id}', {
  summary: 'Delete an inbox with all its mail; it receives nothing from now on, and its keys are revoked',
  access: key('admin'),
  replies: { 204: null },
  refusals: ['conflict'],
  audit: 'inbox.delete',
})
