// A message as a caller hands it in, and how that is answered; parts of it are shared by the other doors that take mail.
import type { Static } from 'typebox'
import { Int64, NamedObject, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { IDEMPOTENCY_KEY_CHARS_MAX, RECIPIENTS_MAX } from './limits.ts'

const Text = (options: object = {}) => Type.String({ ...sensitive, ...options })
/** Counted after de-duplication; twice as many as there may be are too many whatever they are. */
export const Addresses = (options: object = {}) =>
  Type.Array(Type.String({ maxLength: 1000, 'x-too-long': 'invalid_message' }), {
    maxItems: 2 * RECIPIENTS_MAX,
    'x-too-many': 'too_many_recipients',
    ...options,
  })
/** Why any door that takes mail may refuse it. */
export const SEND_REFUSALS = [
  'invalid_message',
  'domain_not_verified',
  'too_many_recipients',
  'attachments_too_large',
  'tenant_disabled',
  'sending_suspended',
  'rate_limited',
  'quota_exceeded',
] as const
/** Of a request that carries attachments: 25 MB in base64, and the texts. */
export const BODY_BYTES_MAX = 40 * 1024 * 1024
/** More than any message may have: refused unread, with the code of the exact limit. */
const ITEMS_MAX = 1_000
const tooMany = { 'x-too-many': 'invalid_message' }
export const TextMap = Type.Record(Type.String(), Type.String(), { maxProperties: ITEMS_MAX, ...tooMany })

export const Attachment = NamedObject('Attachment', {
  content: Text({ description: 'Base64' }),
  filename: Type.Optional(Type.String()),
  content_type: Type.Optional(Type.String({ default: 'application/octet-stream' })),
  content_id: Type.Optional(Type.String({ description: 'For inline cid: references in the HTML' })),
  inline: Type.Optional(Type.Boolean({ default: false })),
})

export const Attachments = () => Type.Array(Attachment, { maxItems: ITEMS_MAX, ...tooMany })

export const SendRequest = NamedObject('SendRequest', {
  tenant_id: Type.Optional(Uuid({ description: 'Required for account-wide keys' })),
  from: Type.String({ description: 'Address, a display name allowed', examples: ['Acme <hello@acme.sluice.test>'] }),
  to: Addresses({ examples: [['someone@example.com']] }),
  cc: Type.Optional(Addresses()),
  bcc: Type.Optional(Addresses()),
  reply_to: Type.Optional(Type.String({ description: 'Or the header Reply-To' })),
  subject: Type.Optional(Text()),
  text: Type.Optional(Text()),
  html: Type.Optional(Text()),
  headers: Type.Optional(TextMap),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: ITEMS_MAX, ...tooMany })),
  metadata: Type.Optional(TextMap),
  idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: IDEMPOTENCY_KEY_CHARS_MAX })),
  attachments: Type.Optional(Attachments()),
  unsubscribe: Type.Optional(Type.Boolean({ description: 'Adds one-click unsubscribe headers (RFC 8058)' })),
})
export type SendRequest = Static<typeof SendRequest>

export const SendResponse = NamedObject('SendResponse', {
  message_id: Uuid(),
  queued: Int64({ description: 'Recipients queued' }),
  held: Int64({ description: 'Recipients parked because a pause applies' }),
  suppressed: Int64({ description: 'Recipients skipped as suppressed' }),
  duplicate: Type.Boolean({ description: 'The idempotency key matched an earlier submission' }),
  hold_scope: Type.Optional(Type.String({ description: 'The scope that caused a hold: <scope_type>:<scope_value>' })),
})
export type SendResponse = Static<typeof SendResponse>

export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4 * IDEMPOTENCY_KEY_CHARS_MAX,
      description: `At most ${IDEMPOTENCY_KEY_CHARS_MAX} characters`,
    }),
  ),
})
