// Writing drafts: a new one, one written anew, one thrown away.
import { requireNoLegalHold } from '../../identity/accounts/legal-hold.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { collision } from '../../platform/db/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { KeyPrincipal, Named, Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach, requireInboxToChange } from '../inboxes/find.ts'
import { auditIn, lockInboxes, ownerOf, type LockedInbox } from '../inboxes/lock.ts'
import { policyOf } from '../inboxes/policy.ts'
import { checkAllowed, checkBody, contentOf, requireActiveTenant, type CheckedBody } from './content.ts'
import type { Draft, DraftBody, DraftUpdate } from './contract.ts'
import { replaceFiles, wantedFiles } from './files.ts'
import { presentDraft } from './present.ts'
import {
  countDrafts,
  deleteDraftRow,
  insertDraft,
  insertDraftAttachments,
  requireDraft,
  requireDraftForUpdate,
  updateDraftContent,
  type StoredDraft,
} from './queries.ts'

/** Of an inbox. */
const DRAFTS_MAX = 10_000

interface Writing<Body> {
  by: Actor
  caller: KeyPrincipal
  body: Body
}

export async function createDraft(world: World, creating: Writing<DraftBody> & { inboxId: string }): Promise<Draft> {
  const { by, caller, body, inboxId } = creating
  const { tenant_id: tenantId } = await requireInboxInReach(world.db, caller.reach, inboxId)
  if (body.send_at) await requireActiveTenant(world, caller.reach, tenantId)
  const checked = checkBody(body, world.clock.now())
  return world.db.transact(by, async tx => {
    const inbox = await requireInboxToChange(tx, caller.reach, inboxId)
    return storeDraft(tx, { caller, inbox, checked, forwardedId: null })
  })
}

interface NewDraft {
  caller: KeyPrincipal
  /** Locked. */
  inbox: Awaited<ReturnType<typeof requireInboxToChange>>
  checked: CheckedBody
  /** Of a scheduled forward: the message that it carries. */
  forwardedId: string | null
}

export async function storeDraft(tx: Tx, { caller, inbox, checked, forwardedId }: NewDraft): Promise<Draft> {
  const { id: inboxId, account_id, tenant_id } = inbox
  if ((await countDrafts(tx, inboxId)) >= DRAFTS_MAX) {
    throw refuse('conflict', `The inbox has ${DRAFTS_MAX} drafts already.`)
  }
  const content = await contentOf(tx, { inboxId, forwardedId }, checked)
  if (content.scheduled_at) checkAllowed(policyOf(inbox.policy), content)
  const id = newId(tx.now)
  const requested_by = requesterOf(caller)
  await insertDraft(tx, { id, account_id, tenant_id, inbox_id: inboxId, requested_by, ...content })
  await insertDraftAttachments(tx, id, checked.attachments)
  const draft = await requireDraft(tx, caller.reach, id)
  recordDraft(tx, draft, 'draft.created')
  if (draft.scheduled_at) recordDraft(tx, draft, 'draft.scheduled')
  auditDraft(tx, draft, { after: summaryOf(draft) })
  return presentDraft(draft)
}

export async function updateDraft(world: World, updating: Writing<DraftUpdate> & { id: string }): Promise<Draft> {
  const { by, caller, body, id } = updating
  const { tenant_id: tenantId } = await requireDraft(world.db, caller.reach, id)
  if (body.send_at) await requireActiveTenant(world, caller.reach, tenantId)
  const files = wantedFiles(body)
  const checked = checkBody({ ...body, attachments: [...files.added] }, world.clock.now())
  return world.db.transact(by, async tx => {
    const leavesOut = ({ attachments }: StoredDraft) => attachments.some(each => !files.order.includes(each.id))
    // A file that is left out is deleted for good. The account is locked before the inbox.
    const isAsked = leavesOut(await requireDraft(tx, caller.reach, id))
    if (isAsked) await requireNoLegalHold(tx, caller.reach.accountId)
    const { draft: before, inbox } = await requireIdleDraft(tx, caller.reach, id)
    if (!isAsked && leavesOut(before)) throw collision('a file was added to the draft meanwhile')
    const content = await contentOf(tx, { inboxId: inbox.id, forwardedId: before.forwarded_id }, checked)
    if (content.scheduled_at) checkAllowed(inbox.policy, content)
    await updateDraftContent(tx, id, content, requesterOf(caller))
    await replaceFiles(tx, before, { order: files.order, added: checked.attachments })
    const draft = await requireDraft(tx, caller.reach, id)
    recordDraft(tx, draft, 'draft.updated')
    if (draft.scheduled_at) recordDraft(tx, draft, 'draft.scheduled')
    auditDraft(tx, draft, { before: summaryOf(before), after: summaryOf(draft) })
    return presentDraft(draft)
  })
}

export async function deleteDraft(world: World, by: Actor, { reach, id }: Named): Promise<void> {
  await world.db.transact(by, async tx => {
    // Before the hold is asked about: a draft of somebody else is not found, whatever the caller's own hold.
    await requireDraft(tx, reach, id)
    await requireNoLegalHold(tx, reach.accountId)
    const { draft } = await requireIdleDraft(tx, reach, id)
    await deleteDraftRow(tx, id)
    recordDraft(tx, draft, 'draft.deleted')
    auditDraft(tx, draft, { before: summaryOf(draft) })
  })
}

/**
 * One that is being sent right now can be neither changed nor called back. Its inbox is locked first, as sending does: a
 * batch that finds the inbox locked goes on without this mail, and would wait for the row of a draft.
 */
export async function requireIdleDraft(
  tx: Tx,
  reach: Reach,
  id: string,
): Promise<{ draft: StoredDraft; inbox: LockedInbox }> {
  const [inbox] = await lockInboxes(tx, [(await requireDraft(tx, reach, id)).inbox_id])
  const draft = await requireDraftForUpdate(tx, reach, id)
  if (isBeingSent(draft, tx.now)) throw beingSent()
  return { draft, inbox: inbox! }
}

/** A worker that died leaves a lease that has lapsed. Whatever is done to the draft takes it from that worker. */
export const isBeingSent = ({ lease_token, due_at }: StoredDraft, now: Date): boolean =>
  lease_token !== null && due_at !== null && due_at > now

export const beingSent = () => refuse('conflict', 'The draft is being sent.')

export const requesterOf = ({ keyId, name }: KeyPrincipal) => ({ key_id: keyId, name })

export function recordDraft(
  tx: Tx,
  draft: Pick<StoredDraft, 'id' | 'account_id' | 'tenant_id' | 'inbox_id' | 'thread_id' | 'scheduled_at'>,
  type: 'draft.created' | 'draft.updated' | 'draft.deleted' | 'draft.scheduled',
  more: object = {},
): void {
  const { id: draft_id, thread_id, scheduled_at } = draft
  const data = { draft_id, thread_id, scheduled_at: scheduled_at?.toISOString() ?? null, ...more }
  tx.record({ type, ...ownerOf({ ...draft, id: draft.inbox_id }), data })
}

export function auditDraft(tx: Tx, draft: StoredDraft, change: { before?: object; after?: object }): void {
  auditIn(tx, { ...draft, id: draft.inbox_id }, { target: { type: 'draft', id: draft.id }, ...change })
}

/** What somebody wrote is no business of the audit log. */
const summaryOf = (draft: StoredDraft): object => ({
  inbox_id: draft.inbox_id,
  recipients: draft.to_list.length + draft.cc_list.length + draft.bcc_list.length,
  attachments: draft.attachments.length,
  scheduled_at: draft.scheduled_at?.toISOString() ?? null,
})
