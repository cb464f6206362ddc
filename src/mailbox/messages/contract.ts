// Messages of an inbox: lists, reading, and filing.
import type { Static } from 'typebox'
import { del, get, key, post, put } from '../../platform/http/contract.ts'
import { NamedObject, NextCursor, Nullable, PageQuery, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'
import { Labels } from './labels.ts'
import { Hidden, Message, MessageSummary } from './message-schema.ts'

const read = key('read', { levels: LEVELS })
const write = key('send', { levels: LEVELS })
const FolderName = Type.String({ minLength: 1, maxLength: 256 })
const IDS_MAX = 200

export const listInboxMessagesEndpoint = get('/v1/inboxes/{id}/messages', {
  summary: 'List the messages of an inbox, newest first, without their texts',
  access: read,
  query: PageQuery({
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Name of a folder, or all; without it everything but trash',
      }),
    ),
    unread: Type.Optional(Type.Boolean({ description: 'true: only unread ones; false: only read ones' })),
    direction: Type.Optional(Type.Enum(['in', 'out'])),
    label: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    from: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'Part of the sender, in any case' })),
  }),
  replies: {
    200: Type.Object({
      messages: Type.Array(MessageSummary, {
        description: 'A page may hold fewer than limit, or none, while next_cursor is there: go on from it',
      }),
      next_cursor: NextCursor,
      hidden: Hidden,
    }),
  },
  refusals: ['invalid_request'],
})

const largeRead = { access: read, noun: 'message', isLargeRead: true } as const

export const getInboxMessageEndpoint = get('/v1/inbox-messages/{id}', {
  ...largeRead,
  summary: 'Get a message with its texts and what is attached',
  replies: { 200: Message },
})

export const getRawEndpoint = get('/v1/inbox-messages/{id}/raw', {
  ...largeRead,
  summary: 'The source of a message',
  replies: { 200: { raw: 'message/rfc822' } },
})

export const getHtmlEndpoint = get('/v1/inbox-messages/{id}/html', {
  ...largeRead,
  summary: 'The sanitised HTML of a message; of mail without any, its text as HTML',
  replies: { 200: Type.Object({ id: Uuid(), html: Nullable(Type.String({ ...sensitive })) }) },
})

const filing = { access: write, noun: 'message', replies: { 200: Message } } as const

export const markReadEndpoint = post('/v1/inbox-messages/{id}/read', {
  ...filing,
  summary: 'Mark a message as read or unread; its content is answered to keys that may read',
  body: NamedObject('ReadFlag', { read: Type.Optional(Type.Boolean({ default: true })) }),
  isBodyOptional: true,
  audit: 'inbox_message.read',
})

export const setLabelsEndpoint = put('/v1/inbox-messages/{id}/labels', {
  ...filing,
  summary: 'Replace the labels of a message; its content is answered to keys that may read',
  body: NamedObject('LabelList', { labels: Labels }),
  audit: 'inbox_message.label',
})

export const moveMessageEndpoint = post('/v1/inbox-messages/{id}/move', {
  ...filing,
  summary: 'Move a message to a folder of its inbox; its content is answered to keys that may read',
  body: NamedObject('MoveRequest', { folder: FolderName }),
  refusals: ['invalid_request'],
  audit: 'inbox_message.move',
})

export const deleteMessageEndpoint = del('/v1/inbox-messages/{id}', {
  summary: 'Move a message to trash; one that is there, or with permanent, is deleted for good',
  access: write,
  noun: 'message',
  query: Type.Object({ permanent: Type.Optional(Type.Boolean()) }),
  replies: { 200: Type.Object({ id: Uuid(), trashed: Type.Boolean(), deleted: Type.Boolean() }) },
  refusals: ['conflict'],
  audit: 'inbox_message.delete',
})

const BatchRequest = NamedObject('BatchRequest', {
  action: Type.Enum(['move', 'delete', 'read', 'unread']),
  ids: Type.Array(Uuid(), { maxItems: IDS_MAX }),
  folder: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'For move' })),
  permanent: Type.Optional(Type.Boolean({ description: 'For delete' })),
})
export type BatchRequest = Static<typeof BatchRequest>

export const batchEndpoint = post('/v1/inboxes/{id}/batch', {
  summary: 'Move, delete or mark up to 200 messages; ids that the inbox does not have count as missing',
  access: write,
  body: BatchRequest,
  replies: { 200: Type.Object({ moved: Type.Integer(), deleted: Type.Integer(), missing: Type.Integer() }) },
  refusals: ['conflict', 'invalid_request'],
  audit: 'inbox_message.batch',
})
