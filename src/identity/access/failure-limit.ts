// How often logins from one address may fail, in all or at one key. Kept in memory, per process: it slows guessing down
// and keeps the journal from being flooded; what makes guessing hopeless is the length of the passwords.
import type { Clock } from '../../platform/clock.ts'
import { networkOf } from '../../platform/net/cidr.ts'

const WINDOW_MS = 600_000
/** Times that are kept: about 2 MB. Beyond it the source that failed the longest ago is forgotten. */
const TIMES_MAX = 300_000

export class FailureLimit {
  readonly #clock: Clock
  readonly #failuresMax: number
  /** Times of the last failures by network and subject, those that failed the longest ago first. */
  readonly #failures = new Map<string, number[]>()

  /** So many within ten minutes. */
  constructor(clock: Clock, failuresMax: number) {
    this.#clock = clock
    this.#failuresMax = failuresMax
  }

  /** Seconds until this address may try again, at this subject where one is given; 0 when it may now. */
  waitSeconds(address: string, subject = ''): number {
    const recent = this.#recent(sourceOf(address, subject))
    if (recent.length < this.#failuresMax) return 0
    const freeAtMs = recent.at(-this.#failuresMax)! + WINDOW_MS
    return Math.max(1, Math.ceil((freeAtMs - this.#nowMs()) / 1000))
  }

  note(address: string, subject = ''): void {
    const source = sourceOf(address, subject)
    const recent = [...this.#recent(source), this.#nowMs()].slice(-this.#failuresMax)
    this.#failures.delete(source)
    this.#failures.set(source, recent)
    if (this.#failures.size <= TIMES_MAX / this.#failuresMax) return
    const oldest = this.#failures.keys().next()
    if (!oldest.done) this.#failures.delete(oldest.value)
  }

  #recent(source: string): number[] {
    const sinceMs = this.#nowMs() - WINDOW_MS
    return (this.#failures.get(source) ?? []).filter(at => at > sinceMs)
  }

  #nowMs(): number {
    return this.#clock.now().getTime()
  }
}

const sourceOf = (address: string, subject: string): string => `${networkOf(address)} ${subject}`
