// Mail to postmaster@ and abuse@ that was kept for the operator.
import Type from 'typebox'
import { endpoint, operator } from '../../platform/http/contract.ts'
import { Cursor, Limit, NextCursor } from '../../platform/http/schemas.ts'
import { Message, MessageSummary } from '../messages/message-schema.ts'

export const listPostmasterEndpoint = endpoint({
  method: 'GET',
  path: '/admin/v1/postmaster',
  summary: 'List mail to postmaster@ and abuse@ that no inbox took, newest first, without its texts',
  access: operator,
  query: Type.Object({ cursor: Cursor, limit: Limit }),
  replies: { 200: Type.Object({ messages: Type.Array(MessageSummary), next_cursor: NextCursor }) },
  refusals: ['invalid_request'],
})

export const getPostmasterEndpoint = endpoint({
  method: 'GET',
  path: '/admin/v1/postmaster/{id}',
  summary: 'Get one of them with its texts',
  access: operator,
  noun: 'message',
  isLargeRead: true,
  replies: { 200: Message },
})
