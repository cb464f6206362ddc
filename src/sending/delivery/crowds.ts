// Destinations that are served more slowly than they are sent to. Their mail waits in the queue and not with us, where it
// would take the place of everybody else's.

/** Of mail for a crowded destination, this much is under way in this process: enough to notice when it recovers. */
const SHARE = 20
const PUT_OFF_MS_MIN = 5_000
/** As after a few deferrals: a destination that recovers is not waited for much longer. */
const PUT_OFF_MS_MAX = 600_000

interface Crowd {
  since: number
  putOff: number
  served: number
}

export class Crowds {
  readonly #underWay = new Map<string, number>()
  readonly #crowds = new Map<string, Crowd>()

  begin(domain: string, count: number): void {
    this.#underWay.set(domain, this.#countOf(domain) + count)
  }

  end(domain: string, count: number): void {
    const left = this.#countOf(domain) - count
    if (left > 0) this.#underWay.set(domain, left)
    else this.#underWay.delete(domain)
    if (left < SHARE / 2) this.#crowds.delete(domain)
  }

  /** Mail for it has stood in line for too long. */
  note(domain: string): void {
    if (!this.#crowds.has(domain)) this.#crowds.set(domain, { since: performance.now(), putOff: 0, served: 0 })
  }

  serve(domain: string, count: number): void {
    const crowd = this.#crowds.get(domain)
    if (crowd) crowd.served += count
  }

  /**
   * How long mail that was just claimed has to wait in the queue, in milliseconds: until its turn comes at the pace of late.
   * Null when it may go.
   */
  putOff(domain: string, count: number): number | null {
    if (!this.#crowds.has(domain) || this.#countOf(domain) < SHARE) return null
    return this.waitAtTheEnd(domain, count)
  }

  /** As above for mail that was turned away already. */
  waitAtTheEnd(domain: string, count: number): number {
    const crowd = this.#crowds.get(domain)
    if (!crowd) return PUT_OFF_MS_MIN
    crowd.putOff += count
    // What is under way counts as served: at first nothing else is known of the pace.
    const perMs = Math.max(crowd.served, SHARE) / Math.max(performance.now() - crowd.since, PUT_OFF_MS_MIN)
    return Math.min(PUT_OFF_MS_MAX, Math.max(PUT_OFF_MS_MIN, crowd.putOff / perMs))
  }

  /** How much is under way for crowded destinations. */
  get size(): number {
    let size = 0
    for (const domain of this.#crowds.keys()) size += this.#countOf(domain)
    return size
  }

  #countOf(domain: string): number {
    return this.#underWay.get(domain) ?? 0
  }
}
