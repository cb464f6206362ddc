// Threads: messages of an inbox that belong together.
import type { Static } from 'typebox'
import { get, key, post, put } from '../../platform/http/contract.ts'
import { DateTime, NamedObject, NextCursor, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'
import { Labels } from '../messages/labels.ts'
import { Hidden, MessageSummary } from '../messages/message-schema.ts'

export const Thread = NamedObject('Thread', {
  id: Uuid(),
  inbox_id: Uuid(),
  subject: Type.String(),
  participants: Type.Array(Type.String(), { description: 'Addresses, the inbox itself left out' }),
  message_count: Type.Integer({ description: 'Outside trash' }),
  unread_count: Type.Integer({ description: 'Outside trash' }),
  labels: Type.Array(Type.String()),
  tainted: Type.Boolean({ description: 'Holds mail that an agent must not take orders from' }),
  taint_reasons: Type.Array(Type.Unknown()),
  last_message_at: DateTime(),
  created_at: DateTime(),
})
export type Thread = Static<typeof Thread>

const read = key('read', { levels: LEVELS })

export const listThreadsEndpoint = get('/v1/inboxes/{id}/threads', {
  summary: 'List the threads of an inbox that have a message outside trash and spam, most recently active first',
  access: read,
  query: PageQuery({}),
  replies: { 200: Type.Object({ threads: Type.Array(Thread), next_cursor: NextCursor, hidden: Hidden }) },
})

export const getThreadEndpoint = get('/v1/threads/{id}', {
  summary: 'Get a thread; the id of one that was merged into another answers that one',
  access: read,
  replies: { 200: Thread },
})

export const listThreadMessagesEndpoint = get('/v1/threads/{id}/messages', {
  summary: 'List the messages of a thread outside trash, oldest first, without their texts',
  access: read,
  query: PageQuery({}),
  replies: { 200: Type.Object({ messages: Type.Array(MessageSummary), next_cursor: NextCursor, hidden: Hidden }) },
})

export const setThreadLabelsEndpoint = put('/v1/threads/{id}/labels', {
  summary: 'Replace the labels of a thread; its subject and participants are answered to keys that may read',
  access: key('send', { levels: LEVELS }),
  body: NamedObject('ThreadLabelList', { labels: Labels }),
  replies: { 200: Thread },
  audit: 'thread.label',
})

export const clearTaintEndpoint = post('/v1/threads/{id}/clear-taint', {
  summary: 'Clear the taint of a thread and its messages, after a person has looked at them',
  access: key('admin'),
  replies: { 200: Thread },
  refusals: ['conflict'],
  audit: 'thread.clear_taint',
})
