// Recording what pushes came to, and stopping endpoints that are gone or hopeless. The lease is the fence: what another
// worker has taken over meanwhile is left alone.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { PushResult } from '../../platform/net/guarded-http.ts'
import type { Ended } from '../../platform/work/leased-work.ts'
import { retryDelayMs } from '../../platform/work/retry-delay.ts'
import type { World } from '../../platform/world.ts'
import { disableHopeless, updateFailing } from './queries.ts'
import { recordTried, type ClaimedRow, type Tried } from './work-queries.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const RETRY_DELAYS_MS = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS]
/**
 * An endpoint whose tries all failed for five days is disabled: on the first of them and on five later ones. Time in which
 * nothing was tried, because nothing happened or the service was away, says nothing about the endpoint.
 */
const FAILED_DAYS_MAX = 6

type Pushed = Ended<ClaimedRow, PushResult>

/** Only results whose lease is still ours are stored, and only those are answered. */
export async function recordPushes(tx: Tx, pushed: readonly Pushed[]): Promise<Pushed[]> {
  const rows = await recordTried(
    tx,
    pushed.map(each => triedOf(each, tx.now)),
  )
  const ours = new Set(rows.map(row => `${row.webhook_id} ${row.event_id}`))
  const known = pushed.filter(({ item }) => ours.has(`${item.webhook_id} ${item.event_id}`))
  const succeeded = new Set(known.filter(each => each.result.error === null).map(each => each.item.webhook_id))
  const failing = failuresOf(known)
    .map(each => each.item.webhook_id)
    .filter(id => !succeeded.has(id))
  await updateFailing(tx, { succeeded: [...succeeded], failed: [...new Set(failing)] })
  return known
}

export const statusOf = (pushed: Pushed): Tried['status'] => {
  if (pushed.result.error === null) return 'delivered'
  return retryDelayOf(pushed) === null ? 'dead' : 'failed'
}

/** Without its event there is nothing to try again. */
const retryDelayOf = ({ item, result }: Pushed): number | null =>
  result.error === null || !item.event ? null : retryDelayMs(RETRY_DELAYS_MS, item.round_tries + 1)

function triedOf(pushed: Pushed, now: Date): Tried {
  const { item, result } = pushed
  const delayMs = retryDelayOf(pushed)
  return {
    ...item,
    ...result,
    status: statusOf(pushed),
    tries: item.event ? 1 : 0,
    dueAt: delayMs === null ? null : new Date(now.getTime() + delayMs),
  }
}

/** An endpoint that was not called has not failed. */
const failuresOf = (pushed: readonly Pushed[]): Pushed[] =>
  pushed.filter(({ item, result }) => result.error !== null && item.event)
/** 410 says that it is gone for good; one that only failed for five days is not worth more tries. */
export async function stopHopeless(world: World, pushed: readonly Pushed[]): Promise<void> {
  const failed = failuresOf(pushed)
  if (failed.length === 0) return
  const stopped = await world.db.transact(system('webhooks'), async tx => {
    const webhooks = await disableHopeless(tx, {
      gone: failed.filter(each => each.result.responseStatus === 410).map(each => each.item.webhook_id),
      failed: failed.map(each => each.item.webhook_id),
      failedDays: FAILED_DAYS_MAX,
    })
    for (const { id, account_id: accountId, tenant_id: tenantId, url, disabled_reason: reason } of webhooks) {
      const { host } = new URL(url)
      raise(tx, {
        kind: 'webhook_disabled',
        severity: 'warning',
        title:
          reason === 'gone'
            ? `The webhook at ${host} was disabled: it answered 410 Gone.`
            : `The webhook at ${host} was disabled: every push failed for five days.`,
        accountId,
        tenantId,
        facts: { webhook_id: id, host, reason },
      })
      tx.audit({
        action: 'webhook.disable',
        accountId,
        tenantId,
        target: { type: 'webhook', id },
        before: { status: 'active' },
        after: { status: 'disabled', disabled_reason: reason },
      })
    }
    return webhooks
  })
  for (const { id, disabled_reason: reason } of stopped) {
    world.log.warn({ webhook_id: id, reason }, 'a webhook was disabled')
  }
}
