// A bound on the bytes of bodies and messages that are being received, charged as they arrive. A connection that may not
// grow stops reading, which TCP turns into waiting at the client; nobody is refused. An owner (an account, or a network
// where nobody has logged in) has a share, so that slow uploads of one do not keep another's mail out.

/** What one connection has received and not yet handed on. */
export class Inflow {
  readonly #budget: InflowBudget
  readonly owner: string
  /** Called when a connection that was told to wait may read on. */
  readonly resume: () => void
  bytes = 0
  isWaiting = false

  constructor(budget: InflowBudget, owner: string, resume: () => void) {
    this.#budget = budget
    this.owner = owner
    this.resume = resume
  }

  /** Whether the connection may read on; otherwise `resume` is called when it may. */
  grow(bytes: number): boolean {
    this.bytes += bytes
    this.isWaiting = !this.#budget.add(this, bytes)
    return !this.isWaiting
  }

  release(): void {
    this.#budget.remove(this)
  }
}

interface Owner {
  bytes: number
  /** In the order in which they began, the oldest first. */
  inflows: Set<Inflow>
}

export class InflowBudget {
  readonly #bytesMax: number
  readonly #owners = new Map<string, Owner>()
  /** In the order in which they began, the oldest first. */
  readonly #inflows = new Set<Inflow>()
  #used = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  open(owner: string, resume: () => void): Inflow {
    return new Inflow(this, owner, resume)
  }

  get used(): number {
    return this.#used
  }

  add(inflow: Inflow, bytes: number): boolean {
    const owner = this.#owners.get(inflow.owner) ?? { bytes: 0, inflows: new Set() }
    this.#owners.set(inflow.owner, owner)
    owner.inflows.add(inflow)
    owner.bytes += bytes
    this.#inflows.add(inflow)
    this.#used += bytes
    return this.#mayGrow(inflow, owner)
  }

  remove(inflow: Inflow): void {
    if (!this.#inflows.delete(inflow)) return
    const owner = this.#owners.get(inflow.owner)!
    owner.inflows.delete(inflow)
    owner.bytes -= inflow.bytes
    if (owner.inflows.size === 0) this.#owners.delete(inflow.owner)
    this.#used -= inflow.bytes
    for (const each of this.#inflows) {
      if (!each.isWaiting || !this.#mayGrow(each, this.#owners.get(each.owner)!)) continue
      each.isWaiting = false
      each.resume()
    }
  }

  /**
   * While there is room: an owner up to half of it, and beyond that its oldest body, which would otherwise never end. When
   * there is none: an owner that has less than an equal share, up to twice the bound in all; and always the oldest body,
   * so that some body can end whatever the others hold.
   */
  #mayGrow(inflow: Inflow, owner: Owner): boolean {
    const isOldestOfOwner = owner.inflows.values().next().value === inflow
    if (this.#used <= this.#bytesMax && (owner.bytes <= this.#bytesMax / 2 || isOldestOfOwner)) return true
    if (this.#used <= 2 * this.#bytesMax && owner.bytes <= this.#bytesMax / Math.max(2, this.#owners.size)) return true
    return this.#inflows.values().next().value === inflow
  }
}
