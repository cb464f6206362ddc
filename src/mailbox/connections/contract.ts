// Inboxes that mirror a mailbox at Google or Microsoft: a person agrees at the provider, in the browser of the admin.
import { anyone, del, get, key, post } from '../../platform/http/contract.ts'
import { NamedObject, sensitive } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Inbox } from '../inboxes/inbox-schema.ts'

export const connectEndpoint = post('/v1/inboxes/{id}/connect/{provider}', {
  summary:
    'Where the browser of the admin is sent to agree that the inbox mirrors a mailbox at `google` or `microsoft`',
  access: key('admin'),
  pathEnums: { provider: ['google', 'microsoft'] },
  operationId: 'connectInbox',
  replies: { 200: NamedObject('ConnectStart', { auth_url: Type.String({ format: 'uri' }) }) },
  refusals: ['invalid_request', 'conflict', 'not_configured'],
  audit: 'inbox.authorize',
})

export const connectCallbackEndpoint = get('/v1/inboxes/connect/callback', {
  summary:
    'Where the provider sends the browser back; answers with the page of the inbox, whether it was connected or not',
  operationId: 'finishConnectingInbox',
  access: anyone,
  query: Type.Object({
    state: Type.String({ maxLength: 500, ...sensitive }),
    code: Type.Optional(Type.String({ maxLength: 8_000, ...sensitive })),
    error: Type.Optional(Type.String({ maxLength: 500, description: 'Why the provider gives no code' })),
  }),
  replies: { 302: null },
  refusals: ['invalid_request'],
  audit: 'inbox.connect',
})

export const disconnectEndpoint = del('/v1/inboxes/{id}/connect', {
  summary: 'End the connection: the inbox keeps what was synced and sends from its own address again',
  access: key('admin'),
  operationId: 'disconnectInbox',
  replies: { 200: Inbox },
  refusals: ['conflict', 'not_configured'],
  audit: 'inbox.disconnect',
})
