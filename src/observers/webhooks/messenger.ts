// The life of a push, downward: claim what is due, webhook by webhook; sign and send it; record what came of it. The
// network is never touched inside a transaction; a lease says who holds what, and lapses when its holder dies.
import { randomUUID } from 'node:crypto'
import { system } from '../../platform/db/actor.ts'
import { followIndexes } from '../../platform/db/planner.ts'
import type { World } from '../../platform/world.ts'
import { presentEvent } from '../events/present.ts'
import type { GuardedHttp, PushResult } from '../../platform/net/guarded-http.ts'
import { Budget, HELD_MAX, ROOM_MIN } from './budget.ts'
import { Lane, outcomeOf, type Held } from './lane.ts'
import { pushHeaders } from './push-headers.ts'
import { listActiveEndpointsAnywhere } from './queries.ts'
import { Recorder } from './recorder.ts'
import {
  claimAttempts,
  extendLeases,
  lockDueLanes,
  releaseLeases,
  updateLanes,
  type DueLane,
  type LanesAsked,
  type Lease,
  type Room,
} from './work-queries.ts'

/** A worker that dies gives its pushes back within 35 s; the heartbeat keeps those of one that lives. */
const LEASE_MS = 30_000
/**
 * Claimed at a time, and how often, while others wait for what this process does as well: pushes have time. Whatever is held:
 * endpoints that hang must not take the others' share.
 */
const CLAIM_MAX_YIELDING = 64
const CLAIM_EVERY_MS_YIELDING = 100
/** Webhooks per claim. */
const LANES_MAX = 200
/** A webhook that is disabled or deleted meanwhile is noticed within this time, also when claims are few. */
const REFRESH_MS = 500
/** Idle lanes are kept for what they have learned, up to here. */
const LANES_KEPT_MAX = 20_000

const by = system('webhooks')

export class Messenger {
  readonly #world: World
  readonly #client: GuardedHttp
  readonly #recorder: Recorder
  readonly #lanes = new Map<string, Lane>()
  readonly #held = new Set<Held>()
  readonly #mustYield: () => boolean
  #refreshedAt = 0
  #claimedAt = 0
  /** The last claim left something out: for want of room in all, or of an account that has its share. */
  #isShort = false
  #endedWhileShort = 0
  #isStopping = false

  /** `mustYield` says whether there is something more urgent to do than to push. */
  constructor(world: World, client: GuardedHttp, mustYield: () => boolean = () => false) {
    this.#world = world
    this.#mustYield = mustYield
    this.#client = client
    this.#recorder = new Recorder(world)
    world.metrics.gauge('sluice_webhook_pushes_held', 'Webhook attempts this process has leased', [], gauge => {
      gauge.set(this.#held.size)
    })
  }

  /** Claims what is due and starts it; answers how much. */
  async takeNext(): Promise<number> {
    await this.#refresh()
    await this.#release(this.#overdue())
    const [total, budget] = [this.#total(), new Budget(this.#lanes.values())]
    const full = budget.fullAccounts()
    this.#isShort = total === 0 || full.size > 0
    this.#endedWhileShort = 0
    if (total === 0 || this.#isStopping) return 0
    this.#claimedAt = performance.now()
    const leaseToken = randomUUID()
    const { rows, lanes } = await this.#world.db.transactLightly(by, async tx => {
      followIndexes(tx)
      const due = await lockDueLanes(tx, { ...this.#lanesToAsk(budget, full), limit: LANES_MAX })
      if (due.length === 0) return { rows: [], lanes: 0 }
      const ids = due.map(lane => lane.webhook_id)
      const leaseUntil = new Date(tx.now.getTime() + LEASE_MS)
      const rooms = this.#rooms(due, total, budget)
      const claimed = await claimAttempts(tx, { lanes: rooms, leaseToken, leaseUntil })
      await updateLanes(tx, ids)
      return { rows: claimed, lanes: ids.length }
    })
    await this.#take(rows.map(row => ({ ...row, leaseToken })))
    // A claim over many webhooks with little to do is no sign that the rest has nothing.
    return rows.length + (lanes === LANES_MAX ? 1 : 0)
  }

  /** Keeps the leases of what is held. */
  async heartbeat(): Promise<void> {
    const leases = [...this.#held].map(leaseOf)
    if (leases.length === 0) return
    await this.#world.db.transactLightly(by, tx => {
      followIndexes(tx)
      return extendLeases(tx, leases, new Date(tx.now.getTime() + LEASE_MS))
    })
  }

  /** Gives back what waits, and gives what is in flight so long to end. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    await this.#release([...this.#lanes.values()].flatMap(lane => lane.waiting.splice(0)))
    await this.#untilNothingIsHeld(timeoutMs)
  }

  /**
   * After `drain`, once the HTTP client is closed: what that cut has a result now, which gets so long to be recorded. What
   * is not recorded is given back by its lease.
   */
  async close(timeoutMs: number): Promise<void> {
    await this.#untilNothingIsHeld(timeoutMs)
    const results = this.#recorder.giveUp()
    if (results > 0) this.#world.log.error({ results }, 'known results of pushes are lost with this process')
  }

  async #untilNothingIsHeld(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while (this.#held.size > 0 && performance.now() < deadline) await new Promise(resolve => setTimeout(resolve, 20))
  }

  /** What waits for endpoints that were quick and hang now: others may hold it. */
  #overdue(): Held[] {
    const now = performance.now()
    return [...this.#lanes.values()].filter(lane => lane.isLate(now)).flatMap(lane => lane.slowDown())
  }

  #total(): number {
    return Math.max(0, Math.min(HELD_MAX - this.#held.size, this.#claimMax()))
  }

  #claimMax(): number {
    if (!this.#mustYield()) return HELD_MAX
    return performance.now() - this.#claimedAt < CLAIM_EVERY_MS_YIELDING ? 0 : CLAIM_MAX_YIELDING
  }

  /** Those that this process does not know are new. Without room for such, only known ones are worth asking for. */
  #lanesToAsk(budget: Budget, full: ReadonlySet<string>): LanesAsked {
    const isWorthIt = (lane: Lane): boolean => lane.isHungry && budget.roomFor(lane.standing, lane.accountId) > 0
    const idsOf = (lanes: Lane[]): string[] => lanes.map(lane => lane.webhookId)
    const worthy = Map.groupBy(this.#lanes.values(), isWorthIt)
    const [good, rest] = [worthy.get(true) ?? [], worthy.get(false) ?? []]
    if (!budget.hasRoomForStrangers) return { only: idsOf(good), except: [] }
    const known = idsOf(good.filter(lane => full.has(lane.accountId)))
    return { only: null, except: idsOf(rest), exceptAccounts: [...full], known }
  }

  #rooms(due: readonly DueLane[], total: number, budget: Budget): Room[] {
    const share = Math.max(1, Math.floor(total / due.length))
    return due.map(({ webhook_id: webhookId, account_id: accountId }) => {
      const lane = this.#laneOf({ webhookId, accountId })
      return { webhookId, room: budget.take(lane.standing, accountId, Math.min(share, lane.room)) }
    })
  }

  #laneOf(of: { webhookId: string; accountId: string }): Lane {
    let lane = this.#lanes.get(of.webhookId)
    if (!lane) {
      lane = new Lane(of)
      this.#lanes.set(of.webhookId, lane)
    }
    return lane
  }

  async #take(claimed: readonly Held[]): Promise<void> {
    if (claimed.length === 0) return
    for (const held of claimed) this.#held.add(held)
    const groups = Map.groupBy(claimed, held => held.webhook_id)
    const endpoints = await listActiveEndpointsAnywhere(this.#world.db, [...groups.keys()])
    const now = this.#world.clock.now()
    for (const endpoint of endpoints) {
      const lane = this.#laneOf({ webhookId: endpoint.id, accountId: endpoint.account_id })
      lane.update(endpoint, this.#world.secrets, now)
      for (const attempt of groups.get(endpoint.id)!) lane.waiting.push(attempt)
      groups.delete(endpoint.id)
      this.#pump(lane)
    }
    // Disabled or deleted since the claim.
    await this.#release([...groups.values()].flat())
  }

  /** What waits here for a webhook that is no longer active goes back. */
  async #refresh(): Promise<void> {
    if (performance.now() - this.#refreshedAt < REFRESH_MS) return
    this.#refreshedAt = performance.now()
    const waiting = [...this.#lanes.values()].filter(lane => lane.waiting.length > 0)
    if (waiting.length === 0) return
    const ids = waiting.map(lane => lane.webhookId)
    const active = new Set((await listActiveEndpointsAnywhere(this.#world.db, ids)).map(endpoint => endpoint.id))
    const stopped = waiting.filter(lane => !active.has(lane.webhookId))
    await this.#release(stopped.flatMap(lane => lane.waiting.splice(0)))
  }

  #pump(lane: Lane): void {
    while (lane.mayStart && !this.#isStopping) {
      void this.#run(lane, lane.start(performance.now()))
    }
  }

  async #run(lane: Lane, held: Held): Promise<void> {
    const wasHungry = lane.isHungry
    const result = await this.#push(lane, held)
    void this.#release(lane.end(held, result === EVENT_GONE ? 'untried' : outcomeOf(result)))
    this.#pump(lane)
    if ((!wasHungry && lane.isHungry) || this.#isRoomAgain()) this.#world.wakeups.nudge('attempts')
    try {
      await this.#recorder.record({ held, result })
      // Recording a failure holds the lane for a moment, and a claim may have passed it by.
      if (result.error !== null) this.#world.wakeups.nudge('attempts')
    } catch (err) {
      // The lease gives it back. The receiver may get it twice: better than never.
      this.#world.log.error({ err, webhook_id: held.webhook_id }, 'the result of a push could not be recorded')
    } finally {
      this.#held.delete(held)
      if (this.#lanes.size > LANES_KEPT_MAX && lane.held === 0) this.#lanes.delete(lane.webhookId)
    }
  }

  #isRoomAgain(): boolean {
    if (!this.#isShort) return false
    this.#endedWhileShort += 1
    return this.#endedWhileShort % ROOM_MIN === 0 || this.#held.size < ROOM_MIN
  }

  async #push(lane: Lane, { event, event_type: type, event_id: id, attempt }: Held): Promise<PushResult> {
    if (!event) return EVENT_GONE
    const { url, keys } = lane.target
    const body = JSON.stringify(presentEvent(event))
    const headers = pushHeaders({ type, id, attempt: attempt + 1, body, keys, now: this.#world.clock.now() })
    return this.#client.push({ url, headers, body })
  }

  async #release(waiting: readonly Held[]): Promise<void> {
    if (waiting.length === 0) return
    const leases = waiting.map(held => ({ ...leaseOf(held), wasDueAt: held.was_due_at }))
    const released = this.#world.db.transactLightly(by, tx => {
      followIndexes(tx)
      return releaseLeases(tx, leases)
    })
    // Where the database is away, the leases lapse.
    await released.catch(() => {})
    for (const held of waiting) this.#held.delete(held)
  }
}

/** There is nothing left to push, which is not the endpoint's fault. */
const EVENT_GONE: PushResult = {
  responseStatus: null,
  isComplete: false,
  error: 'The event is no longer stored.',
  latencyMs: 0,
}

const leaseOf = ({ webhook_id, event_id, leaseToken }: Held): Lease => ({
  webhookId: webhook_id,
  eventId: event_id,
  leaseToken,
})
