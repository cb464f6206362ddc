// The one message object of mailboxes.
import type { Static } from 'typebox'
import { DateTime, NamedObject, Nullable, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

/** Of a message in a list: a mail may have a thousand, and a page 500 mails. */
export const LISTED_ATTACHMENTS_MAX = 10

const AttachmentInfo = NamedObject('InboxAttachment', {
  id: Uuid(),
  filename: Nullable(Type.String()),
  content_type: Type.String(),
  size: Type.Integer({ description: 'Bytes, decoded' }),
  content_id: Nullable(Type.String({ description: 'For cid: references in the HTML' })),
  inline: Type.Boolean(),
})
export type AttachmentInfo = Static<typeof AttachmentInfo>

const Authentication = NamedObject('MailAuthentication', {
  spf: Type.Object({
    result: Type.String(),
    domain: Nullable(Type.String()),
    aligned: Type.Boolean({ description: "It passed, and the domain is the author's" }),
  }),
  dkim: Type.Object({
    result: Type.String(),
    signatures: Type.Array(
      Type.Object({
        domain: Type.String(),
        selector: Type.String(),
        result: Type.String(),
        aligned: Type.Boolean(),
      }),
    ),
  }),
  dmarc: Type.Object({
    result: Type.String(),
    policy: Nullable(Type.String()),
    domain: Nullable(Type.String()),
  }),
  arc: Type.Object({ result: Type.String() }),
})

const Shield = NamedObject('ShieldVerdict', {
  verdict: Type.Enum(['clean', 'suspicious', 'blocked']),
  reasons: Type.Array(Type.Object({ kind: Type.String(), detail: Type.String(), where: Type.String() })),
  blocked: Type.Boolean(),
})
export type Shield = Static<typeof Shield>

const Addresses = Type.Array(Type.String({ description: 'Name <address>' }))

const fields = {
  id: Uuid(),
  inbox_id: Uuid(),
  thread_id: Uuid(),
  direction: Type.Enum(['in', 'out']),
  folder: Type.String(),
  read: Type.Boolean(),
  labels: Type.Array(Type.String()),
  from: Type.String({ description: 'Name <address>; empty when the mail names nobody' }),
  to: Addresses,
  cc: Addresses,
  bcc: Type.Array(Type.String(), { description: 'Of what was sent' }),
  reply_to: Nullable(Type.String()),
  subject: Type.String({ ...sensitive }),
  snippet: Type.String({ ...sensitive, description: 'The beginning of the new text' }),
  rfc_message_id: Nullable(Type.String()),
  in_reply_to: Nullable(Type.String()),
  references: Type.Array(Type.String()),
  date: Nullable(DateTime({ description: 'As the mail says' })),
  received_at: DateTime(),
  size: Type.Integer(),
  attachments: Type.Array(AttachmentInfo, {
    description: `In lists the first ${LISTED_ATTACHMENTS_MAX}; GET /v1/inbox-messages/{id} has all`,
  }),
  attachments_truncated: Type.Boolean({ description: 'There are more attachments than this list shows' }),
  auth: Nullable(Authentication),
  shield: Nullable(Shield),
  tainted: Type.Boolean(),
  status: Nullable(Type.String({ description: 'Of what was sent' })),
  approval_id: Nullable(Uuid()),
  message_id: Nullable(Uuid({ description: 'The submission that carries what was sent' })),
  extracted_data: Type.Unknown({ description: 'What was extracted by a schema; null when nothing was' }),
}

/** In lists: without the texts. */
export const MessageSummary = NamedObject('InboxMessageSummary', fields)
export type MessageSummary = Static<typeof MessageSummary>

export const Message = NamedObject('InboxMessage', {
  ...fields,
  text: Type.String({ ...sensitive }),
  html: Nullable(Type.String({ ...sensitive, description: 'Sanitised' })),
  extracted_text: Type.String({ ...sensitive, description: 'The new text, without what it quotes' }),
  notes: Type.Array(Type.String(), { description: 'What was cut or could not be read of this mail, and why' }),
})
export type Message = Static<typeof Message>

/** What a view leaves out. */
export const Hidden = NamedObject('Hidden', {
  spam: Type.Integer({ description: 'Messages in spam that this view leaves out' }),
  trash: Type.Integer({ description: 'Messages in trash that this view leaves out' }),
  blocked: Type.Integer({ description: 'Of those: blocked by the shield' }),
})
export type Hidden = Static<typeof Hidden>
