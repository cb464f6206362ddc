// Sending from an inbox: new mail, replies and forwards. From is always the inbox.
import { key, post } from '../../platform/http/contract.ts'
import { LEVELS } from '../../platform/principal.ts'
import { BODY_BYTES_MAX, IdempotencyHeader } from '../../sending/messages/send-schema.ts'
import { Composed, ComposeRequest } from './compose-schema.ts'

const common = {
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

export const composeEndpoint = post('/v1/inboxes/{id}/messages', {
  ...common,
  summary: 'Send mail from an inbox: it is filed in sent, or held for approval where the policy says so',
  audit: 'inbox_message.send',
})

export const replyEndpoint = post('/v1/inbox-messages/{id}/reply', {
  ...common,
  summary: 'Reply to a message, in its thread; without text and html the original is quoted',
  noun: 'message',
  isBodyOptional: true,
  audit: 'inbox_message.reply',
})

export const forwardEndpoint = post('/v1/inbox-messages/{id}/forward', {
  ...common,
  summary: 'Forward a message with its text and attachments, unless the shield has blocked it',
  noun: 'message',
  refusals: [...common.refusals, 'forbidden'],
  audit: 'inbox_message.forward',
})
