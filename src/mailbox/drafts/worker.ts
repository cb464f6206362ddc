// Scheduled drafts as leased work: claimed when they are due and never earlier, sent through the same act as everything that
// leaves a mailbox. A draft that cannot be sent becomes a plain one that says why; one that cannot be sent yet waits.
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Ended } from '../../platform/work/leased-work.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'
import type { World } from '../../platform/world.ts'
import { TooManyPending } from '../approvals/companion.ts'
import type { Composing } from '../compose/composing.ts'
import { inboxPaused, PolicyChanged } from '../compose/keeper.ts'
import { claimDueDrafts, draftLeases, updateUnsentDrafts, type DueDraft } from './due-queries.ts'
import { listDraftsAnywhere, type StoredDraft } from './queries.ts'
import { recordDraft } from './save.ts'
import { sendStored } from './send.ts'

/** The inbox is paused, a limit is reached, its policy is being changed, or too many of its mails wait for an approval. */
const RETRY_DELAYS_MS = [60_000]
/** Too much waited before it, or the database was away: neither is its own doing, and it is late already. */
const UNAVAILABLE_DELAYS_MS = [2_000]
/** Faults of our own: after so many tries a person must look. */
const TRIES_MAX = 10

/** A hundred of them are read at once. */
const READ_TOGETHER_BYTES_MAX = 64 * 1024

/** Reasons that pass by themselves. */
const WAITING: ReadonlySet<string> = new Set([
  'inbox_paused',
  'rate_limited',
  'quota_exceeded',
  'sending_suspended',
  'tenant_disabled',
  'unavailable',
])

type Result = { kind: 'sent' } | { kind: 'waiting' | 'unavailable' | 'refused' | 'failed'; error: string }

const LIMITS = {
  inFlight: { all: 256, new: 256, slow: 64 },
  perKey: { first: 16, max: 64, aheadMax: 64, quickMs: 2_000 },
}

export function scheduledDrafts(world: World, composing: Composing): LeasedWorker<DueDraft, Result> {
  const findSmall = smallDrafts(world)
  return new LeasedWorker<DueDraft, Result>(world, {
    name: 'scheduled-drafts',
    metric: 'scheduled_drafts',
    wakeOn: 'drafts',
    pollSeconds: 1,
    leaseMs: 30_000,
    limits: LIMITS,
    transactions: 'durable',
    claim: claimDueDrafts,
    keyOf: draft => ({ key: draft.inbox_id, accountId: draft.account_id }),
    attempt: async due => {
      const { account_id: accountId, inbox_id: inboxId, requested_by, bytes } = due
      // The key that asked for it may have read any inbox of the tenant: it is compared with tainted mail in all of them.
      const reach = { accountId, tenantId: due.tenant_id, inboxId: null }
      // Before a large one is read: it is tried each minute for as long as the inbox is paused.
      const isLarge = bytes > READ_TOGETHER_BYTES_MAX
      if (isLarge && (await composing.requireInbox(reach, inboxId)).status === 'paused') throw inboxPaused()
      return composing.withPermit({ accountId, bytes, inboxId }, async () => {
        const draft = isLarge ? (await listDraftsAnywhere(world.db, [due.id]))[0] : await findSmall(due.id)
        // Another worker has sent it, or somebody has deleted it, since the claim.
        if (!draft) return { kind: 'sent' }
        const caller = { keyId: requested_by.key_id, name: requested_by.name, reach }
        const by = { ...system('scheduled drafts'), action: 'draft.send' }
        await sendStored(world, composing, { by, caller, draft, leaseToken: due.leaseToken })
        return { kind: 'sent' }
      })
    },
    failed: (due, error) => resultOf(world, due, error),
    outcomeOf: ({ result }) => result.kind,
    record,
    leases: draftLeases,
  })
}

/** Drafts that fall due together are read together, as far as they are short. */
function smallDrafts({ db }: World): (id: string) => Promise<StoredDraft | null> {
  const batcher = new Batcher<string, StoredDraft | null>({
    run: async ids => {
      const drafts = new Map((await listDraftsAnywhere(db, ids)).map(draft => [draft.id, draft]))
      return ids.map(id => drafts.get(id) ?? null)
    },
    itemsMax: 100,
    slots: 2,
  })
  return id => batcher.submit(id)
}

function resultOf(world: World, due: DueDraft, error: unknown): Result {
  if (error instanceof Refusal && !isUnavailable(error)) {
    const { code, cause } = error
    const isPassing = WAITING.has(code) || cause instanceof PolicyChanged || cause instanceof TooManyPending
    return { kind: isPassing ? 'waiting' : 'refused', error: error.message }
  }
  if (isUnavailable(error)) return { kind: 'unavailable', error: 'The service was not available.' }
  world.log.error({ err: error, draft_id: due.id }, 'a scheduled draft could not be sent')
  return { kind: 'failed', error: 'Sending failed for a reason of ours.' }
}

/** What was sent is gone already, by the transaction that accepted it. */
async function record(tx: Tx, ended: readonly Ended<DueDraft, Result>[]): Promise<readonly Ended<DueDraft, Result>[]> {
  // Whatever the delay, that is after the time that was asked for: the draft was due when it was tried.
  const after = (delaysMs: readonly number[], tries: number): Date =>
    new Date(tx.now.getTime() + repeatedDelayMs(delaysMs, tries))
  const unsent = ended.flatMap(({ item, result }) => {
    if (result.kind === 'sent') return []
    const isOver = result.kind === 'refused' || (result.kind === 'failed' && item.attempts >= TRIES_MAX)
    const scheduledAt = isOver ? null : item.scheduled_at
    const delaysMs = result.kind === 'unavailable' ? UNAVAILABLE_DELAYS_MS : RETRY_DELAYS_MS
    const dueAt = isOver ? null : after(delaysMs, item.attempts)
    const hasWaited = result.kind === 'waiting' || result.kind === 'unavailable'
    return [{ ...item, scheduledAt, dueAt, error: result.error.slice(0, 500), hasWaited }]
  })
  if (unsent.length === 0) return ended
  const updated = new Set((await updateUnsentDrafts(tx, unsent)).map(({ id }) => id))
  const over = unsent.filter(each => each.dueAt === null && updated.has(each.id)).map(each => each.id)
  // With the reason: a draft that somebody called back changes in the same way.
  for (const draft of await listDraftsAnywhere(tx, over)) {
    recordDraft(tx, draft, 'draft.updated', { error: draft.last_error })
  }
  return ended.filter(({ item, result }) => result.kind === 'sent' || updated.has(item.id))
}
