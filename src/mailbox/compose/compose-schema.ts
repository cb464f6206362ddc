// A mail as a caller composes it, and how that is answered, whatever the door.
import type { Static } from 'typebox'
import { DateTime, Int64, NamedObject, Nullable, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Addresses, Attachments } from '../../sending/messages/send-schema.ts'

const Text = Type.String({ ...sensitive })

export const ComposeRequest = NamedObject('ComposeRequest', {
  to: Type.Optional(Addresses({ description: 'Of a reply: instead of who wrote the original' })),
  cc: Type.Optional(Addresses()),
  bcc: Type.Optional(Addresses()),
  subject: Type.Optional(Text),
  text: Type.Optional(Text),
  html: Type.Optional(Text),
  reply_all: Type.Optional(
    Type.Boolean({ description: 'Of a reply: also to those that the original was sent and copied to' }),
  ),
  send_at: Type.Optional(DateTime({ description: 'A time to come: makes a scheduled draft' })),
  attachments: Type.Optional(Attachments()),
})
export type ComposeRequest = Static<typeof ComposeRequest>

/** What may have become of a mail since it was approved or rejected. */
const DECIDED = ['rejected', 'sent', 'delivered', 'bounced', 'blocked', 'expired', 'complained', 'cancelled'] as const

export const Composed = NamedObject('Composed', {
  id: Uuid({ description: 'The message in the mailbox; with status scheduled: the draft' }),
  inbox_id: Uuid(),
  thread_id: Nullable(Uuid()),
  status: Type.Enum(['queued', 'held', 'suppressed', 'scheduled', ...DECIDED], {
    description:
      'held: waits for an approval, or a pause holds every recipient. ' +
      'With duplicate, of a mail that waited for an approval: its status by now',
  }),
  message_id: Nullable(Uuid({ description: 'The accepted submission; null while it waits for an approval' })),
  approval_id: Nullable(Uuid()),
  scheduled_at: Nullable(DateTime()),
  queued: Int64({ description: 'Recipients queued' }),
  held: Int64({ description: 'Recipients that a pause holds' }),
  suppressed: Int64({ description: 'Recipients skipped as suppressed' }),
  duplicate: Type.Boolean({ description: 'The idempotency key matched an earlier request' }),
})
export type Composed = Static<typeof Composed>
