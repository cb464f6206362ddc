// Making alerts from the journal, telling contacts of them, and forgetting what was told long ago.
import { system } from '../../platform/db/actor.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { Worker } from '../../platform/work/worker.ts'
import type { World } from '../../platform/world.ts'
import { deleteOldNotifications, updateUntriedDead } from './notification-queries.ts'
import { deleteOldMailDays } from './mail-queries.ts'
import type { NotificationWorker } from './notification-worker.ts'
import { deleteOldAlerts, lockClearTargets, updateSealedTargets } from './queries.ts'
import { alertTail } from './take-alerts.ts'
import { sealTarget } from './target.ts'

const NOTIFICATION_KEPT_MS = 30 * 86_400_000
const MAIL_DAYS_KEPT_MS = 7 * 86_400_000
/** A contact that fails is given up after nine hours; one for which too much waits is not told of last week either. */
const UNTRIED_KEPT_MS = 86_400_000
const UNTRIED_ERROR = 'It waited for more than a day. The API lists the alert.'
const BATCH_MAX = 10_000

export const alertWorkers = (notifications: NotificationWorker): Worker[] => [
  alertTail,
  ...notifications.workers,
  { kind: 'periodic', name: 'alert-targets', seconds: 600, run: sealClearTargets },
  { kind: 'periodic', name: 'alert-retention', seconds: 3600, run: forgetOldAlerts },
]

export async function forgetOldAlerts({ db }: World, signal: AbortSignal): Promise<void> {
  const by = system('alert-retention')
  await inBatches(signal, BATCH_MAX, () =>
    db.transact(by, tx => {
      const before = new Date(tx.now.getTime() - UNTRIED_KEPT_MS)
      return updateUntriedDead(tx, { before, limit: BATCH_MAX, error: UNTRIED_ERROR })
    }),
  )
  await inBatches(signal, BATCH_MAX, () =>
    db.transact(by, tx =>
      deleteOldNotifications(tx, { before: new Date(tx.now.getTime() - NOTIFICATION_KEPT_MS), limit: BATCH_MAX }),
    ),
  )
  await inBatches(signal, BATCH_MAX, () => db.transact(by, tx => deleteOldAlerts(tx, BATCH_MAX)))
  await db.transact(by, tx => deleteOldMailDays(tx, new Date(tx.now.getTime() - MAIL_DAYS_KEPT_MS)))
}

const SEALED_AT_ONCE = 200

/** Seals the targets that earlier versions stored in clear, in bounded batches. Answers how many there were. */
export function sealClearTargets({ db, secrets }: World, signal: AbortSignal): Promise<number> {
  return inBatches(signal, SEALED_AT_ONCE, () =>
    db.transact(system('alert-targets'), async tx => {
      const rows = await lockClearTargets(tx, SEALED_AT_ONCE)
      if (rows.length === 0) return 0
      return updateSealedTargets(
        tx,
        rows.map(({ id, target }) => ({ id, sealed: sealTarget(secrets, id, target) })),
      )
    }),
  )
}
