// Queueing again what failed or died, in slices: an endpoint that was away for days has a million of them.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { findNewestAttempt, requeueAttempts } from './attempt-queries.ts'
import type { Named } from '../../platform/principal.ts'
import { requireWebhookForUpdate } from './queries.ts'
import { updateDueNow } from './work-queries.ts'

/** Attempts that a transaction looks at. It locks the webhook: a request that changes it waits. */
const SLICE = 2_000

/**
 * Answers how many attempts were queued. What a slice queued stays queued when a later one fails, and the next replay goes
 * on with the rest.
 */
export async function replay(world: World, by: Actor, webhook: Named, since: Date | null): Promise<number> {
  let progress: Progress = { after: 0, upTo: null, requeued: 0 }
  while (progress.after !== progress.upTo) {
    const next = await world.db.transact(by, tx => replaySlice(tx, webhook, { since, progress }))
    if (next.requeued > progress.requeued) world.wakeups.hint('attempts')
    progress = next
  }
  return progress.requeued
}

interface Progress {
  /** Attempts up to this event were looked at: one that is queued and fails again meanwhile is not queued twice. */
  after: number
  /** The newest event when the replay began, so that it ends although more fail meanwhile; null before the first slice. */
  upTo: number | null
  requeued: number
}

async function replaySlice(
  tx: Tx,
  { reach, id }: Named,
  { since, progress }: { since: Date | null; progress: Progress },
): Promise<Progress> {
  const webhook = await requireWebhookForUpdate(tx, reach, id)
  const { after } = progress
  const upTo = progress.upTo ?? (await findNewestAttempt(tx, id))
  const { last, requeued } = await requeueAttempts(tx, id, { since, after, upTo, limit: SLICE })
  const next = { after: last ?? upTo, upTo, requeued: progress.requeued + requeued }
  if (requeued > 0) await updateDueNow(tx, id)
  const isVain = next.after === upTo && next.requeued === 0
  if (requeued > 0 || isVain) {
    tx.audit({
      accountId: reach.accountId,
      tenantId: webhook.tenant_id,
      target: { type: 'webhook', id },
      after: { requeued, since: since?.toISOString() ?? null },
    })
  }
  return next
}
