// Recording what pushes came to, many in one transaction, and stopping endpoints that are gone or hopeless. The lease is
// the fence: what another worker has taken over meanwhile is left alone.
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import { followIndexes } from '../../platform/db/planner.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { World } from '../../platform/world.ts'
import type { PushResult } from '../../platform/net/guarded-http.ts'
import type { Held } from './lane.ts'
import { disableHopeless, updateFailing } from './queries.ts'
import { FAILING_MS_MAX, pauseAfter } from './schedule.ts'
import { recordTried, type Tried } from './work-queries.ts'

export interface Pushed {
  held: Held
  result: PushResult
}

const by = system('webhooks')

/** What is handed in is kept until it is recorded: never more than what the process has leased. */
export class Recorder {
  readonly #batcher: Batcher<Pushed, void>
  readonly #givingUp = new AbortController()
  #waiting = 0

  constructor(world: World) {
    const outcomes = world.metrics.counter('sluice_webhook_attempts_total', 'Pushes to webhooks by what they came to', [
      'outcome',
    ])
    this.#batcher = new Batcher<Pushed, void>({
      itemsMax: 500,
      slots: 2,
      run: async pushed => {
        const tried = pushed.map(each => judge(each, world.clock.now()))
        await record(world, tried, this.#givingUp.signal)
        for (const { status } of tried) outcomes.inc({ outcome: status })
        return pushed.map(() => undefined)
      },
    })
  }

  async record(pushed: Pushed): Promise<void> {
    this.#waiting += 1
    await this.#batcher.submit(pushed).finally(() => (this.#waiting -= 1))
  }

  /** What is not recorded by now is not kept any longer; answers how many results that are. */
  giveUp(): number {
    this.#givingUp.abort()
    return this.#waiting
  }
}

function judge({ held, result }: Pushed, now: Date): Tried {
  const isDelivered = result.error === null
  // Without its event there is nothing to try again.
  const pause = isDelivered || !held.event ? null : pauseAfter(held.round_tries + 1)
  return {
    webhookId: held.webhook_id,
    eventId: held.event_id,
    leaseToken: held.leaseToken,
    status: isDelivered ? 'delivered' : pause === null ? 'dead' : 'failed',
    tries: held.event ? 1 : 0,
    dueAt: pause === null ? null : new Date(now.getTime() + pause),
    ...result,
  }
}

/** While the database is away it is tried again: after a short outage not everything is to be pushed a second time. */
async function record(world: World, tried: readonly Tried[], signal: AbortSignal): Promise<void> {
  const failed = await retryWhileUnavailable(() => store(world, tried), signal)
  if (failed.length > 0) await retryWhileUnavailable(() => stopHopeless(world, failed), signal)
}

/** A crash of the database may undo it: the lease then lapses and the push is made again, which is allowed. */
const store = (world: World, tried: readonly Tried[]): Promise<Tried[]> =>
  world.db.transactLightly(by, async tx => {
    followIndexes(tx)
    const rows = await recordTried(tx, tried)
    const ours = new Set(rows.map(row => `${row.webhook_id} ${row.event_id}`))
    const known = tried.filter(each => ours.has(`${each.webhookId} ${each.eventId}`))
    const succeeded = new Set(known.filter(each => each.status === 'delivered').map(each => each.webhookId))
    // An endpoint that was not called has not failed.
    const failures = known.filter(each => each.status !== 'delivered' && each.tries > 0)
    const failing = failures.map(each => each.webhookId).filter(id => !succeeded.has(id))
    await updateFailing(tx, { succeeded: [...succeeded], failed: [...new Set(failing)] })
    return failures
  })

/** 410 says that it is gone for good; one that only failed for five days is not worth more tries. */
async function stopHopeless(world: World, failed: readonly Tried[]): Promise<void> {
  const stopped = await world.db.transact(by, async tx => {
    const webhooks = await disableHopeless(tx, {
      gone: failed.filter(each => each.responseStatus === 410).map(each => each.webhookId),
      failed: failed.map(each => each.webhookId),
      failingBefore: new Date(tx.now.getTime() - FAILING_MS_MAX),
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
