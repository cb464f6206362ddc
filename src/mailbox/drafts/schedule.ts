// Scheduling a draft, and calling it back.
import type { Actor } from '../../platform/db/actor.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { checkAllowed, checkRecipients, futureTime, requireActiveTenant } from './content.ts'
import { requireDraft, updateDraftSchedule } from './queries.ts'
import { auditDraft, recordDraft, requesterOf, requireIdleDraft } from './save.ts'

interface Scheduling {
  by: Actor
  caller: KeyPrincipal
  id: string
}

export async function scheduleDraft(world: World, { by, caller, id, sendAt }: Scheduling & { sendAt: string }) {
  const { tenant_id: tenantId } = await requireDraft(world.db, caller.reach, id)
  await requireActiveTenant(world, caller.reach, tenantId)
  const time = futureTime(sendAt, world.clock.now())
  return world.db.transact(by, async tx => {
    const { draft, inbox } = await requireIdleDraft(tx, caller.reach, id)
    const { to_list: to, cc_list: cc, bcc_list: bcc } = draft
    checkRecipients({ to, cc, bcc }, { isReply: draft.reply_to_id !== null })
    checkAllowed(inbox.policy, draft)
    await updateDraftSchedule(tx, id, time, requesterOf(caller))
    recordDraft(tx, { ...draft, scheduled_at: time }, 'draft.scheduled')
    const [before, after] = [draft.scheduled_at?.toISOString() ?? null, time.toISOString()]
    auditDraft(tx, draft, { before: { scheduled_at: before }, after: { scheduled_at: after } })
    return { id, scheduled_at: after }
  })
}

/** Once it has answered, the draft is not sent: the worker that would send it leases it first. */
export function cancelDraft(world: World, { by, caller, id }: Scheduling) {
  return world.db.transact(by, async tx => {
    const { draft } = await requireIdleDraft(tx, caller.reach, id)
    if (draft.scheduled_at === null) return { id, scheduled_at: null }
    await updateDraftSchedule(tx, id, null, requesterOf(caller))
    recordDraft(tx, { ...draft, scheduled_at: null }, 'draft.updated')
    auditDraft(tx, draft, {
      before: { scheduled_at: draft.scheduled_at.toISOString() },
      after: { scheduled_at: null },
    })
    return { id, scheduled_at: null }
  })
}
