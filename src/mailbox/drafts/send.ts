// Sending a draft: by a call, or by the worker when it is due. The draft is removed by the transaction that accepts the
// mail, so that it is sent once, whichever others try at the same time and whatever dies meanwhile.
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { Refusal, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { invalid } from '../../sending/messages/check-texts.ts'
import { composeWithPermit, type ComposeOrder, type Requester } from '../compose/compose.ts'
import type { Composed, ComposeRequest } from '../compose/compose-schema.ts'
import type { Composing } from '../compose/composing.ts'
import type { Alongside } from '../compose/keeper.ts'
import {
  deleteDraftRow,
  findOriginal,
  listDraftContents,
  lockUnchangedDraft,
  requireDraft,
  requireDraftSize,
  type StoredDraft,
} from './queries.ts'
import { beingSent, isBeingSent, recordDraft } from './save.ts'

export async function sendDraft(
  world: World,
  composing: Composing,
  { by, caller, id }: { by: Actor; caller: Requester; id: string },
): Promise<Composed> {
  const { bytes, inbox_id: inboxId } = await requireDraftSize(world.db, caller.reach, id)
  return composing.withPermit({ accountId: caller.reach.accountId, bytes, inboxId }, async () => {
    const draft = await requireDraft(world.db, caller.reach, id)
    if (isBeingSent(draft, world.clock.now())) throw beingSent()
    return sendStored(world, composing, { by, caller, draft, leaseToken: draft.lease_token })
  })
}

interface Sending {
  by: Actor
  caller: Requester
  draft: StoredDraft
  /** The worker's, or one that has lapsed; null: the draft was not leased. */
  leaseToken: string | null
}

/** Its caller has the permit that a large one needs. */
export async function sendStored(world: World, composing: Composing, sending: Sending): Promise<Composed> {
  try {
    return await sendOnce(world, composing, sending)
  } catch (error) {
    if (!(error instanceof TaintLearned)) throw error
    return sendOnce(world, composing, { ...sending, draft: { ...sending.draft, is_tainted: true } })
  }
}

async function sendOnce(world: World, composing: Composing, { by, caller, draft, leaseToken }: Sending) {
  const order: ComposeOrder = {
    by,
    caller,
    inboxId: draft.inbox_id,
    ...whatOf(draft),
    wasTainted: draft.is_tainted,
    body: bodyOf(draft),
    files: await filesOf(world, draft),
    // The worker tries each minute, and would fill the journal with the same refusal.
    refusedBefore: by.type === 'system' ? draft.last_error : null,
    alongside: alongsideOf(draft, leaseToken),
  }
  try {
    return await composeWithPermit(world, composing, order)
  } catch (error) {
    const isMissing = error instanceof Refusal && error.code === 'not_found' && order.originalId !== undefined
    if (!isMissing || (await findOriginal(world.db, draft.inbox_id, order.originalId!))) throw error
    return composeWithPermit(world, composing, withoutOriginal(order, draft))
  }
}

/** A draft learns whether its thread was tainted when that goes with its last message, also while it is being sent. */
class TaintLearned extends Error {}

const alongsideOf = (draft: StoredDraft, leaseToken: string | null): Alongside => ({
  key: draft.id,
  check: async tx => {
    const locked = await lockUnchangedDraft(tx, { ...draft, leaseToken })
    if (!locked) return changed()
    return locked.is_tainted && !draft.is_tainted ? new TaintLearned() : null
  },
  store: async tx => {
    await deleteDraftRow(tx, draft.id)
    recordDraft(tx, draft, 'draft.deleted')
  },
})

/**
 * Deleting a mail calls no answer to it back. The answer goes as a new mail in the thread, to those whom the draft names:
 * nothing else says whom the original came from.
 */
function withoutOriginal(order: ComposeOrder, draft: StoredDraft): ComposeOrder {
  const { originalId: _deleted, ...rest } = order
  const { thread_id, to_list, text, html } = draft
  if (order.kind === 'forward') throw invalid('The message that this draft forwards was deleted.')
  if (to_list.length === 0) {
    throw invalid('The message that this draft answers was deleted. Say whom to write to in the field to.')
  }
  if (text === null && html === null) {
    throw invalid('The message that this draft answers was deleted and cannot be quoted. Write a text or html.')
  }
  return { ...rest, kind: 'new', threadId: thread_id }
}

const whatOf = ({ reply_to_id, forwarded_id }: StoredDraft): Pick<ComposeOrder, 'kind' | 'originalId'> => {
  if (forwarded_id !== null) return { kind: 'forward', originalId: forwarded_id }
  return reply_to_id === null ? { kind: 'new' } : { kind: 'reply', originalId: reply_to_id }
}

/** Without recipients a reply goes to who wrote the original. */
const bodyOf = ({ to_list, cc_list, bcc_list, subject, text, html }: StoredDraft): ComposeRequest => ({
  ...(to_list.length > 0 ? { to: to_list } : {}),
  cc: cc_list,
  bcc: bcc_list,
  ...(subject === null ? {} : { subject }),
  ...(text === null ? {} : { text }),
  ...(html === null ? {} : { html }),
})

async function filesOf({ db }: World, { id, attachments }: StoredDraft): Promise<Attachment[]> {
  if (attachments.length === 0) return []
  const rows = await listDraftContents(db, id)
  return rows.map(({ filename, content_type, content_id, is_inline, content }) => ({
    filename,
    contentType: content_type,
    contentId: content_id,
    inline: is_inline,
    content,
  }))
}

const changed = () => refuse('conflict', 'The draft was sent, changed or deleted meanwhile.')
