// Mail to postmaster@ and abuse@ that was kept for the operator.
import { get, operator } from '../../platform/http/contract.ts'
import { Page, PageQuery } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Message, MessageSummary } from '../messages/message-schema.ts'

export const listPostmasterEndpoint = get('/admin/v1/postmaster', {
  summary: 'List mail to postmaster@ and abuse@ that no inbox took, newest first, without its texts',
  access: operator,
  query: PageQuery({}),
  replies: { 200: Page({ messages: Type.Array(MessageSummary) }) },
  refusals: ['invalid_request'],
})

export const getPostmasterEndpoint = get('/admin/v1/postmaster/{id}', {
  summary: 'Get one of them with its texts',
  access: operator,
  noun: 'message',
  isLargeRead: true,
  replies: { 200: Message },
})
