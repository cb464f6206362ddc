// A bound on the bytes of bodies and messages that are being received, charged as they arrive. A connection that may not
// grow stops reading, which TCP turns into waiting at the client. An owner (an account, or a network where nobody has
// logged in) has a share, so that slow uploads of one do not keep another's mail out. While memory is short, bodies whose
// peers have gone silent are dropped, so that many owners together keep nobody out either.
import type { Behalf } from '../owner.ts'
import { Tally } from './tally.ts'

/** The connection of a body. */
interface Connection {
  /** It was told to wait and may read on. */
  resume: () => void
  /** Memory is short: it refuses the body and releases the memory at once. */
  drop: () => void
}

/** What one connection has received and not yet handed on. */
export class Inflow {
  readonly #budget: InflowBudget
  readonly owner: string
  readonly tenant: string
  readonly connection: Connection
  bytes = 0
  isWaiting = false
  /** Received to its end: its peer owes nothing, and its memory is freed when it is handed on. */
  isWhole = false
  /** When bytes last came, or when the connection was last stopped or resumed. */
  since = 0

  constructor(budget: InflowBudget, whose: Behalf, connection: Connection) {
    this.#budget = budget
    this.owner = whose.owner
    this.tenant = whose.tenant
    this.connection = connection
  }

  /** Whether the connection may read on; otherwise `resume` is called when it may. Called whenever bytes come. */
  grow(bytes: number): boolean {
    this.bytes += bytes
    const wasWaiting = this.isWaiting
    this.isWaiting = !this.#budget.add(this, bytes)
    if (!wasWaiting || !this.isWaiting) this.since = this.#budget.now()
    return !this.isWaiting
  }

  finish(): void {
    this.isWhole = true
    this.isWaiting = false
  }

  release(): void {
    this.#budget.remove(this)
  }
}

interface Owner {
  bytes: number
  bytesByTenant: Tally
  /** Of tenants that have a small share each. */
  smallBytes: number
  /** In the order in which they began, the oldest first. */
  inflows: Set<Inflow>
}

const newOwner = (): Owner => ({ bytes: 0, bytesByTenant: new Tally(), smallBytes: 0, inflows: new Set() })

/** Of the bound: what an owner may have. */
const SHARE = 1 / 2
/** Of the bound: how far tenants with less than an equal part of their owner's share may exceed it together. */
const SHARE_WITH_SIBLINGS = 3 / 4
/** Of the bound: what tenants with a small share each may have together beside a sibling that has all the rest. */
const SIBLINGS_SHARE = 1 / 4
/** Of the bound: how far owners with less than an equal share may exceed it together. */
const FULL = 1.5
/** Of the bound: what an owner may have whatever others do. Of 64 MiB that is 1 MiB, which most mail stays under. */
const SMALL_SHARE = 1 / 64

interface InflowOptions {
  /**
   * How long a peer that we read may bring nothing while memory is short. A sender at the slowest rate that is taken brings
   * bytes each second, and a lost packet is sent again within two.
   */
  stalledMs: number
  /** The monotonic clock. */
  now?: () => number
}

export class InflowBudget {
  readonly #bytesMax: number
  readonly #stalledMs: number
  readonly now: () => number
  readonly #owners = new Map<string, Owner>()
  /** In the order in which they began, the oldest first. */
  readonly #inflows = new Set<Inflow>()
  #used = 0

  constructor(bytesMax: number, { stalledMs, now = () => performance.now() }: InflowOptions) {
    this.#bytesMax = bytesMax
    this.#stalledMs = stalledMs
    this.now = now
  }

  open(whose: Behalf, connection: Connection): Inflow {
    return new Inflow(this, whose, connection)
  }

  get used(): number {
    return this.#used
  }

  add(inflow: Inflow, bytes: number): boolean {
    const owner = this.#owners.get(inflow.owner) ?? newOwner()
    this.#owners.set(inflow.owner, owner)
    owner.inflows.add(inflow)
    this.#count(owner, inflow.tenant, bytes)
    this.#inflows.add(inflow)
    return this.#mayGrow(inflow)
  }

  remove(inflow: Inflow): void {
    if (!this.#inflows.delete(inflow)) return
    const owner = this.#ownerOf(inflow)
    owner.inflows.delete(inflow)
    this.#count(owner, inflow.tenant, -inflow.bytes)
    if (owner.inflows.size === 0) this.#owners.delete(inflow.owner)
    for (const each of this.#inflows) {
      if (!each.isWaiting || !this.#mayGrow(each)) continue
      each.isWaiting = false
      each.since = this.now()
      each.connection.resume()
    }
  }

  #count(owner: Owner, tenant: string, bytes: number): void {
    const before = owner.bytesByTenant.of(tenant)
    const after = owner.bytesByTenant.add(tenant, bytes)
    const small = SMALL_SHARE * this.#bytesMax
    owner.smallBytes += (after <= small ? after : 0) - (before <= small ? before : 0)
    owner.bytes += bytes
    this.#used += bytes
  }

  /**
   * Asked about once a second. While somebody waits and the budget is full, the bodies of owners above an equal share whose
   * peers bring nothing although we read are dropped, the longest silent first: others shall not wait for their
   * time-outs, one after the other. Peers that bring just enough not to be silent, and those that we have stopped, keep
   * what they have, unless an owner with a small share waits in vain: then the bodies of the largest owners go.
   */
  relieve(): void {
    const waiting = [...this.#inflows].filter(each => each.isWaiting)
    if (waiting.length === 0) return
    const stalledSince = this.now() - this.#stalledMs
    const stalled = this.#droppable().filter(each => !each.isWaiting && each.since <= stalledSince)
    this.#dropUntil(
      this.#bytesMax,
      stalled.toSorted((a, b) => a.since - b.since),
    )
    if (!waiting.some(each => each.isWaiting && each.since <= stalledSince && this.#isSmall(each))) return
    const bytesOf = (each: Inflow): number => this.#ownerOf(each).bytes
    const large = this.#droppable().filter(each => !each.isWaiting || !this.#isSmall(each))
    this.#dropUntil(
      FULL * this.#bytesMax,
      large.toSorted((a, b) => bytesOf(b) - bytesOf(a) || b.bytes - a.bytes),
    )
  }

  /** There are some whenever unfinished bodies fill the budget: not every owner has less than an equal share of it then. */
  #droppable(): Inflow[] {
    const equalShare = this.#bytesMax / this.#owners.size
    return [...this.#inflows].filter(each => !each.isWhole && this.#ownerOf(each).bytes > equalShare)
  }

  #dropUntil(bytes: number, inflows: Inflow[]): void {
    for (const inflow of inflows) {
      if (this.#used <= bytes) return
      inflow.connection.drop()
    }
  }

  /**
   * While memory is free: an owner up to half of it, and beyond that its oldest body, which would otherwise never end, and
   * tenants that have little of what their owner has. When there is none: an owner that has less than an equal share, up to
   * one and a half times the bound in all, and one with a small share, up to twice the bound; and always the oldest body,
   * so that some body can end whatever the others have reserved.
   */
  #mayGrow(inflow: Inflow): boolean {
    const owner = this.#ownerOf(inflow)
    const isOldestOfOwner = owner.inflows.values().next().value === inflow
    if (this.#used <= this.#bytesMax && (owner.bytes <= SHARE * this.#bytesMax || isOldestOfOwner)) return true
    if (this.#mayGrowAmongSiblings(inflow)) return true
    if (this.#used <= FULL * this.#bytesMax && owner.bytes <= this.#bytesMax / Math.max(2, this.#owners.size))
      return true
    if (this.#used <= 2 * this.#bytesMax && this.#isSmall(inflow)) return true
    return this.#inflows.values().next().value === inflow
  }

  /** Its owner's other tenants have filled the share. */
  #mayGrowAmongSiblings(inflow: Inflow): boolean {
    const { bytes, bytesByTenant, smallBytes } = this.#ownerOf(inflow)
    const own = bytesByTenant.of(inflow.tenant)
    const small = SMALL_SHARE * this.#bytesMax
    if (this.#used <= this.#bytesMax && bytes <= SHARE_WITH_SIBLINGS * this.#bytesMax) {
      const equalPart = (SHARE * this.#bytesMax) / Math.max(2, bytesByTenant.size)
      if (own <= Math.max(small, equalPart)) return true
    }
    return own <= small && this.#used <= FULL * this.#bytesMax && smallBytes <= SIBLINGS_SHARE * this.#bytesMax
  }

  #isSmall(inflow: Inflow): boolean {
    return this.#ownerOf(inflow).bytes <= SMALL_SHARE * this.#bytesMax
  }

  #ownerOf(inflow: Inflow): Owner {
    return this.#owners.get(inflow.owner)!
  }
}
