// A mail that is composed with `send_at` becomes a scheduled draft. Whom a reply goes to is settled now; what it quotes or
// forwards is read when it is sent, and so is whether the thread can be trusted.
import type { World } from '../../platform/world.ts'
import type { ComposeRequest } from '../compose/compose-schema.ts'
import type { Schedule } from '../compose/composing.ts'
import { requireOriginal } from '../compose/original.ts'
import { checkBlocked, write } from '../compose/write.ts'
import { addressesOf } from '../inboxes/addresses.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import type { DraftBody } from './contract.ts'
import { createDraft } from './save.ts'

export const scheduleComposed =
  (world: World): Schedule =>
  async ({ by, caller, inboxId, kind, originalId, body }) => {
    const inbox = await requireInboxInReach(world.db, caller.reach, inboxId)
    const original = originalId === undefined ? null : await requireOriginal(world.db, caller.reach, originalId)
    if (original) checkBlocked(original, kind, body)
    const answered = kind === 'reply' && original ? repliedTo(body, addressesOf(inbox), original) : {}
    const wanted: DraftBody = {
      ...withoutReplyAll(body),
      ...answered,
      ...(kind === 'reply' ? { reply_to_id: originalId! } : {}),
    }
    const forwardedId = kind === 'forward' ? originalId! : null
    const draft = await createDraft(world, { by, caller, inboxId, body: wanted, forwardedId })
    return {
      id: draft.id,
      inbox_id: draft.inbox_id,
      thread_id: draft.thread_id,
      status: 'scheduled',
      message_id: null,
      approval_id: null,
      scheduled_at: draft.scheduled_at,
      queued: 0,
      held: 0,
      suppressed: 0,
      duplicate: false,
    }
  }

const withoutReplyAll = ({ reply_all: _all, ...body }: ComposeRequest): DraftBody => body

type OriginalMail = Awaited<ReturnType<typeof requireOriginal>>

function repliedTo(body: ComposeRequest, ownAddresses: readonly string[], original: OriginalMail): DraftBody {
  const { to, cc, bcc, subject } = write({
    kind: 'reply',
    body: { ...body, text: '' },
    ownAddresses,
    original,
    texts: null,
  })
  return { to: [...to], cc: [...cc], bcc: [...bcc], subject }
}
