// How often logins from one address may fail. Kept in memory, per process: it slows guessing down and keeps the journal
// from being flooded; what makes guessing hopeless is the length of the passwords.
import type { Clock } from '../../platform/clock.ts'
import { unmapped } from '../../platform/net/cidr.ts'

/** More than the twenty at which the guardian's rule about a credential speaks up. */
const FAILURES_MAX = 30
const WINDOW_MS = 600_000
/** About 2 MB. Beyond it the network that failed the longest ago is forgotten. */
const NETWORKS_MAX = 10_000

export class FailureLimit {
  readonly #clock: Clock
  /** Times of the last failures per network, the network that failed the longest ago first. */
  readonly #failures = new Map<string, number[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Seconds until this address may try again; 0 when it may now. */
  waitSeconds(address: string): number {
    const recent = this.#recent(networkOf(address))
    if (recent.length < FAILURES_MAX) return 0
    const freeAtMs = recent.at(-FAILURES_MAX)! + WINDOW_MS
    return Math.max(1, Math.ceil((freeAtMs - this.#nowMs()) / 1000))
  }

  note(address: string): void {
    const network = networkOf(address)
    const recent = [...this.#recent(network), this.#nowMs()].slice(-FAILURES_MAX)
    this.#failures.delete(network)
    this.#failures.set(network, recent)
    if (this.#failures.size <= NETWORKS_MAX) return
    const oldest = this.#failures.keys().next()
    if (!oldest.done) this.#failures.delete(oldest.value)
  }

  #recent(network: string): number[] {
    const sinceMs = this.#nowMs() - WINDOW_MS
    return (this.#failures.get(network) ?? []).filter(at => at > sinceMs)
  }

  #nowMs(): number {
    return this.#clock.now().getTime()
  }
}

/** An IPv4 address, or the /64 of an IPv6 one: a single line has that many, and would never be limited otherwise. */
function networkOf(address: string): string {
  const plain = unmapped(address).split('%')[0]!
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last]
  return groups
    .slice(0, 4)
    .map(group => group.padStart(4, '0').toLowerCase())
    .join(':')
}
