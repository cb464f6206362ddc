// Sending from an inbox: new mail, replies and forwards. From is always the inbox.
import { endpoint, key } from '../../platform/http/contract.ts'
import { LEVELS } from '../../platform/principal.ts'
import { BODY_BYTES_MAX, IdempotencyHeader } from '../../sending/messages/send-schema.ts'
import { Composed, ComposeRequest } from './compose-schema.ts'

const common = {
  method: 'POST',
  access: key('send', { levels: LEVELS }),
  headers: IdempotencyHeader,
  body: ComposeRequest,
  bodyBytesMax: BODY_BYTES_MAX,
  textRefusal: 'invalid_message',
  replies: { 202: Composed },
  refusals: [
    'invalid_message',
    'domain_not_verified',
    'too_many_recipients',
    'attachments_too_large',
    'tenant_disabled',
    'inbox_paused',
    'recipient_not_allowed',
    'sending_suspended',
    'idempotency_conflict',
    'rate_limited',
    'quota_exceeded',
  ],
} as const

export const composeEndpoint = endpoint({
  ...common,
  path: '/v1/inboxes/{id}/messages',
  summary: 'Send mail from an inbox: it is filed in sent, or held for approval where the policy says so',
  audit: 'inbox_message.send',
})

export const replyEndpoint = endpoint({
  ...common,
  path: '/v1/inbox-messages/{id}/reply',
  summary: 'Reply to a message, in its thread; without text and html the original is quoted',
  noun: 'message',
  isBodyOptional: true,
  audit: 'inbox_message.reply',
})

export const forwardEndpoint = endpoint({
  ...common,
  path: '/v1/inbox-messages/{id}/forward',
  summary: 'Forward a message with its text and attachments, unless the shield has blocked it',
  noun: 'message',
  refusals: [...common.refusals, 'forbidden'],
  audit: 'inbox_message.forward',
})
