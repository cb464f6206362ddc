// A mail that is composed with `send_at` becomes a scheduled draft. Whom a reply goes to is settled now; what it quotes or
// forwards is read when it is sent, and so is whether the thread can be trusted.
import { runAtOnce, type Slices } from '../../platform/slices.ts'
import type { World } from '../../platform/world.ts'
import { bodyHash, findFirstAnswer, keepFirstAnswer, type KeyedRequest } from '../../sending/messages/idempotency.ts'
import type { ComposeOrder } from '../compose/compose.ts'
import type { Composed, ComposeRequest } from '../compose/compose-schema.ts'
import type { Schedule } from '../compose/composing.ts'
import { repeated, sameAs } from '../compose/first-result.ts'
import { requireOriginal } from '../compose/original.ts'
import { checkBlocked, write } from '../compose/write.ts'
import { addressesOf } from '../inboxes/addresses.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { checkBody, requireActiveTenant } from './content.ts'
import type { Draft, DraftBody } from './contract.ts'
import { storeDraft } from './save.ts'

export const scheduleComposed = (world: World): Schedule => {
  return async order => {
    const { by, caller, inboxId, kind, originalId, body } = order
    const inbox = await requireInboxInReach(world.db, caller.reach, inboxId)
    await requireActiveTenant(world, caller.reach, inbox.tenant_id)
    const request = await keyedRequest(world.slices, order, inbox)
    // Before the time is checked: a repetition may come when the mail was sent already.
    const earlier = request && (await findFirstAnswer(world.db, request, world.clock.now()))
    if (earlier) return repeated(earlier)
    const original = originalId === undefined ? null : await requireOriginal(world.db, caller.reach, originalId)
    if (original) checkBlocked(original, kind, body)
    const answered = kind === 'reply' && original ? repliedTo(body, addressesOf(inbox), original) : {}
    const { reply_all: _all, ...withoutReplyAll } = body
    const wanted: DraftBody = {
      ...withoutReplyAll,
      ...answered,
      ...(kind === 'reply' ? { reply_to_id: originalId! } : {}),
    }
    const forwardedId = kind === 'forward' ? originalId! : null
    const checked = checkBody(wanted, world.clock.now())
    return world.db.transact(by, async tx => {
      const locked = await requireInboxToChange(tx, caller.reach, inboxId)
      const first = request && (await findFirstAnswer(tx, request, tx.now))
      if (first) return repeated(first)
      const response = composedOf(await storeDraft(tx, { caller, inbox: locked, checked, forwardedId }))
      if (request) await keepFirstAnswer(tx, request, { madeId: response.id, response })
      return response
    })
  }
}

async function keyedRequest(
  slices: Slices,
  order: ComposeOrder,
  { account_id, tenant_id: tenantId }: { account_id: string; tenant_id: string },
): Promise<KeyedRequest | null> {
  const { idempotencyKey: key } = order
  if (key === undefined) return null
  return { tenantId, key, bodyHash: await slices.run(bodyHash(sameAs(order)), [account_id, tenantId]) }
}

function composedOf({ id, inbox_id, thread_id, scheduled_at }: Draft): Composed {
  const draft = { id, inbox_id, thread_id, status: 'scheduled' as const, scheduled_at }
  return { ...draft, message_id: null, approval_id: null, queued: 0, held: 0, suppressed: 0, duplicate: false }
}

type OriginalMail = Awaited<ReturnType<typeof requireOriginal>>

function repliedTo(body: ComposeRequest, ownAddresses: readonly string[], original: OriginalMail): DraftBody {
  const reply = { kind: 'reply' as const, body: { ...body, text: '' }, ownAddresses, original, texts: null }
  // It quotes nothing, and so is short.
  const { to, cc, bcc, subject } = runAtOnce(write(reply))
  return { to: [...to], cc: [...cc], bcc: [...bcc], subject }
}
