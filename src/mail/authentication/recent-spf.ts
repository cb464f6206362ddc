// What SPF said a moment ago. Mail comes in bursts from one client for one domain, and each evaluation costs nearly half of
// what verifying a DKIM signature does. A policy with macros may answer otherwise for each sender, and is evaluated each time.
import type { SpfOutcome } from './spf.ts'

/** The records behind it may have changed since; nobody counts on seconds there. */
const KEPT_MS = 10_000
const ENTRIES_MAX = 10_000

export class RecentSpf {
  readonly #entries = new Map<string, { outcome: SpfOutcome; until: number }>()

  find(ip: string, domain: string, now: Date): SpfOutcome | null {
    const entry = this.#entries.get(keyOf(ip, domain))
    return entry && entry.until > now.getTime() ? entry.outcome : null
  }

  keep(ip: string, domain: string, now: Date, outcome: SpfOutcome): void {
    const key = keyOf(ip, domain)
    // Taken out first: a map keeps the place of a key that is set again, and the front is what is dropped.
    this.#entries.delete(key)
    this.#entries.set(key, { outcome, until: now.getTime() + KEPT_MS })
    if (this.#entries.size <= ENTRIES_MAX) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest!)
  }
}

const keyOf = (ip: string, domain: string): string => `${ip} ${domain.toLowerCase()}`
