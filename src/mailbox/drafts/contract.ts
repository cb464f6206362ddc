// Drafts: mail that is written and not sent yet, or that is sent at a time to come.
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
import { LEVELS } from '../../platform/principal.ts'
import { Attachment, Attachments, BODY_BYTES_MAX, SEND_REFUSALS } from '../../sending/messages/send-schema.ts'
import { RECIPIENTS_MAX } from '../../sending/messages/limits.ts'
import { Composed } from '../compose/compose-schema.ts'

const Text = (options: object = {}) => Type.String({ ...sensitive, ...options })
const Addresses = Type.Array(Type.String({ maxLength: 1000 }), { maxItems: RECIPIENTS_MAX })

const DraftBody = NamedObject('DraftBody', {
  to: Type.Optional(Addresses),
  cc: Type.Optional(Addresses),
  bcc: Type.Optional(Addresses),
  subject: Type.Optional(Nullable(Text())),
  text: Type.Optional(Nullable(Text())),
  html: Type.Optional(Nullable(Text())),
  attachments: Type.Optional(Attachments()),
  reply_to_id: Type.Optional(Nullable(Uuid({ description: 'The message replied to; threads the draft' }))),
  forwarded_id: Type.Optional(
    Nullable(
      Uuid({
        description:
          'The message that it carries when it is sent, not together with reply_to_id. Left out by a PATCH it stays',
      }),
    ),
  ),
  send_at: Type.Optional(Nullable(DateTime({ description: 'A time to come; left out for a plain draft' }))),
})
export type DraftBody = Static<typeof DraftBody>

/** As a draft shows it, or a new one. */
const DraftFile = Type.Object({
  ...Attachment.properties,
  id: Type.Optional(Uuid({ description: 'Of an attachment of this draft, without content: it stays as it is' })),
  content: Type.Optional(Text({ description: 'Base64, of a new one' })),
  filename: Type.Optional(Nullable(Type.String())),
  content_id: Type.Optional(Nullable(Type.String({ description: 'For inline cid: references in the HTML' }))),
})

const DraftUpdate = NamedObject('DraftUpdate', {
  ...DraftBody.properties,
  attachments: Type.Optional(
    Type.Array(DraftFile, {
      maxItems: 1000,
      'x-too-many': 'invalid_message',
      description: 'All that it has from now on: those named by their id, and new ones. Left out, none',
    }),
  ),
})
export type DraftUpdate = Static<typeof DraftUpdate>

export const Draft = NamedObject('Draft', {
  id: Uuid(),
  inbox_id: Uuid(),
  thread_id: Nullable(Uuid()),
  reply_to_id: Nullable(Uuid()),
  forwarded_id: Nullable(Uuid({ description: 'The message that it carries when it is sent' })),
  to: Type.Array(Type.String()),
  cc: Type.Array(Type.String()),
  bcc: Type.Array(Type.String()),
  subject: Nullable(Text()),
  text: Nullable(Text()),
  html: Nullable(Text()),
  attachments: Type.Array(
    Type.Object({
      id: Uuid(),
      filename: Nullable(Type.String()),
      content_type: Type.String(),
      size: Int64(),
      content_id: Nullable(Type.String()),
      inline: Type.Boolean(),
    }),
  ),
  send_at: Nullable(DateTime({ description: 'As scheduled_at: a draft that is sent back stays scheduled' })),
  scheduled_at: Nullable(DateTime()),
  last_error: Nullable(Type.String({ description: 'Why the last try to send it did not' })),
  created_at: DateTime(),
  updated_at: DateTime(),
})
export type Draft = Static<typeof Draft>

const Wrapped = Type.Object({ draft: Draft })
const Scheduled = Type.Object({ id: Uuid(), scheduled_at: Nullable(DateTime()) })
const writes = key('send', { levels: LEVELS })
const reads = key('read', { levels: LEVELS })

export const listDraftsEndpoint = get('/v1/inboxes/{id}/drafts', {
  summary: 'List the drafts of an inbox, newest first',
  access: reads,
  query: PageQuery({}),
  isLargeRead: true,
  replies: { 200: Page({ drafts: Type.Array(Draft) }) },
})

const writing = {
  access: writes,
  bodyBytesMax: BODY_BYTES_MAX,
  refusals: ['conflict', 'invalid_message', 'attachments_too_large', 'too_many_recipients', 'tenant_disabled'],
} as const

export const createDraftEndpoint = post('/v1/inboxes/{id}/drafts', {
  ...writing,
  summary: 'Write a draft; with send_at it is sent then',
  body: DraftBody,
  replies: { 201: Wrapped },
  audit: 'draft.create',
})

export const getDraftEndpoint = get('/v1/drafts/{id}', {
  summary: 'Get a draft',
  access: reads,
  replies: { 200: Wrapped },
})

export const updateDraftEndpoint = patch('/v1/drafts/{id}', {
  ...writing,
  summary:
    'Write a draft anew: what is left out is cleared, attachments and schedule included, but not what it forwards',
  body: DraftUpdate,
  replies: { 200: Wrapped },
  audit: 'draft.update',
})

export const deleteDraftEndpoint = del('/v1/drafts/{id}', {
  summary: 'Delete a draft',
  access: writes,
  replies: { 200: Type.Object({ deleted: Type.Literal(true) }) },
  refusals: ['conflict'],
  audit: 'draft.delete',
})

export const sendDraftEndpoint = post('/v1/drafts/{id}/send', {
  summary: 'Send a draft; the outbound policy of the inbox may hold it for approval. The draft is removed',
  access: writes,
  replies: { 202: Composed },
  refusals: [...SEND_REFUSALS, 'conflict', 'forbidden', 'inbox_paused', 'recipient_not_allowed'],
  audit: 'draft.send',
})

export const scheduleDraftEndpoint = post('/v1/drafts/{id}/schedule', {
  summary: 'Send a draft at a time to come',
  access: writes,
  body: Type.Object({ send_at: DateTime() }),
  replies: { 200: Scheduled },
  refusals: ['conflict', 'invalid_message', 'tenant_disabled'],
  audit: 'draft.schedule',
})

export const cancelDraftEndpoint = post('/v1/drafts/{id}/cancel', {
  summary: 'Make a scheduled draft a plain one; once this has answered it is not sent',
  access: writes,
  replies: { 200: Scheduled },
  refusals: ['conflict'],
  audit: 'draft.cancel',
})
