// Pushes as leased work: claim what is due, webhook by webhook; sign and send it; record what came of it.
import type { KeyObject } from 'node:crypto'
import type { Tx } from '../../platform/db/database.ts'
import type { GuardedHttp, PushResult } from '../../platform/net/guarded-http.ts'
import type { Pace } from '../../platform/work/key-queue.ts'
import type { Claim, Leased } from '../../platform/work/leased-work.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import type { World } from '../../platform/world.ts'
import { presentEvent } from '../events/present.ts'
import { listActiveEndpointsAnywhere, type Endpoint } from './queries.ts'
import { recordPushes, statusOf, stopHopeless } from './record-pushes.ts'
import { pushHeaders, secretsInForce, signingKeys } from './signature.ts'
import {
  claimAttempts,
  extendLeases,
  lockDueWebhooks,
  releaseLeases,
  updateDueTimes,
  type ClaimedRow,
} from './work-queries.ts'

/** Webhooks per claim. */
const WEBHOOKS_PER_CLAIM_MAX = 200
const QUICK_MS = 1_000

const LIMITS = {
  // Memory: an event is a kilobyte or two.
  inFlight: { all: 8_000, new: 2_000, slow: 2_000 },
  perKey: { first: 4, max: 16, aheadMax: 12, quickMs: QUICK_MS },
  // Pushes have time.
  whileCallersWait: { claimMax: 64, everyMs: 100 },
}

/** An attempt, and where it goes once that has been looked up. */
interface Push extends ClaimedRow {
  target?: Target
}

export type PushWorker = LeasedWorker<Push, PushResult>

export function pushWorker(world: World, client: GuardedHttp): PushWorker {
  const targets = new Targets(world)
  return new LeasedWorker<Push, PushResult>(world, {
    name: 'webhooks',
    metric: 'webhook_attempts',
    wakeOn: 'attempts',
    pollSeconds: 1,
    leaseMs: 30_000,
    limits: LIMITS,
    transactions: 'light',
    claim: (tx, claim) => claimPushes(world, tx, claim),
    prepare: pushes => targets.find(pushes),
    keyOf: push => ({ key: push.webhook_id, accountId: push.owner_id }),
    attempt: push => send(world, client, push),
    paceOf,
    outcomeOf: statusOf,
    record: recordPushes,
    recorded: pushed => stopHopeless(world, pushed),
    // Recording a failure locks the due time of the webhook for a moment, and a claim may have passed it by.
    wakesAfter: result => result.error !== null,
    leases: {
      extend: extendLeases,
      release: releaseLeases,
    },
  })
}

async function claimPushes(world: World, tx: Tx, claim: Claim<Push>): Promise<Push[]> {
  const due = await lockDueWebhooks(tx, { asked: claim.asked, limit: WEBHOOKS_PER_CLAIM_MAX })
  if (due.length === 0) return []
  const limits = claim.limitsFor(due.map(({ webhook_id, account_id }) => ({ key: webhook_id, accountId: account_id })))
  const webhooks = due.map(({ webhook_id }, index) => ({ webhookId: webhook_id, attemptsMax: limits[index]! }))
  const claimed = await claimAttempts(tx, { ...claim, webhooks })
  await updateDueTimes(
    tx,
    due.map(({ webhook_id }) => webhook_id),
  )
  // A claim over many webhooks with little to do is no sign that the rest has nothing.
  if (due.length === WEBHOOKS_PER_CLAIM_MAX) world.wakeups.nudge('attempts')
  return claimed
}

/** An answer is quick when it is complete and soon, whatever it says. */
export function paceOf(result: PushResult): Pace {
  if (result === EVENT_GONE) return 'untried'
  if (result.responseStatus === null) return 'unanswered'
  return result.isComplete && result.latencyMs <= QUICK_MS ? 'quick' : 'slow'
}

async function send(world: World, client: GuardedHttp, push: Leased<Push>): Promise<PushResult> {
  const { event, event_type: type, event_id: id, attempt } = push
  if (!event) return EVENT_GONE
  const { url, keys } = push.target!
  const body = JSON.stringify(presentEvent(event))
  const headers = pushHeaders({ type, id, attempt: attempt + 1, body, keys, now: world.clock.now() })
  return client.push({ url, headers, body })
}

/** There is nothing left to push, which is not the endpoint's fault. */
const EVENT_GONE: PushResult = {
  responseStatus: null,
  isComplete: false,
  error: 'The event is no longer stored.',
  latencyMs: 0,
}

interface Target {
  endpoint: Endpoint
  url: URL
  keys: readonly KeyObject[]
}

const TARGETS_KEPT_MAX = 20_000

/** Where webhooks are and what signs for them: the secrets are opened again only when they changed. */
class Targets {
  readonly #world: World
  readonly #byWebhook = new Map<string, Target>()

  constructor(world: World) {
    this.#world = world
  }

  /** Answers the pushes whose webhook is still active, with their target. */
  async find(pushes: readonly Leased<Push>[]): Promise<readonly Leased<Push>[]> {
    const ids = [...new Set(pushes.map(push => push.webhook_id))]
    const endpoints = await listActiveEndpointsAnywhere(this.#world.db, ids)
    if (this.#byWebhook.size > TARGETS_KEPT_MAX) this.#byWebhook.clear()
    const targets = new Map(endpoints.map(endpoint => [endpoint.id, this.#targetOf(endpoint)]))
    return pushes.filter(push => (push.target = targets.get(push.webhook_id)))
  }

  #targetOf(endpoint: Endpoint): Target {
    const now = this.#world.clock.now()
    const { id, url, secret } = endpoint
    const before = this.#byWebhook.get(id)
    const keyCount = secretsInForce(endpoint, now).length
    if (before?.endpoint.secret === secret && before.endpoint.url === url && before.keys.length === keyCount)
      return before
    const target = { endpoint, url: new URL(url), keys: signingKeys(this.#world.secrets, endpoint, now) }
    this.#byWebhook.set(id, target)
    return target
  }
}
