// MTA-STS (RFC 8461): what a domain demands of its senders, learned over HTTPS and remembered for as long as
// the domain asked, so that someone who later tampers with DNS cannot take it back.
import type { Clock } from '../../platform/clock.ts'
import type { DnsAnswer } from '../../platform/net/dns.ts'
import { remember } from '../../platform/remember.ts'
import { readPolicy, readPolicyId, type StsPolicy } from './mta-sts-policy.ts'

/** A policy, by its id, until it lapses. */
interface Known {
  id: string
  policy: StsPolicy
  until: number
}

export interface StsStore {
  find(domain: string): Promise<Known | null>
  save(domain: string, known: Known): Promise<void>
}

interface StsOptions {
  clock: Clock
  txt: (name: string) => DnsAnswer<string> | Promise<DnsAnswer<string>>
  fetchText: (domain: string) => Promise<string>
  store?: StsStore | undefined
}

const RETRY_MS = 300_000 // RFC 8461 §3.3 allows one fetch per domain in five minutes
/** For so long a domain that nothing is stored of is not looked up again: a policy that comes up is found by its record. */
const NOTHING_STORED_MS = 3_600_000
const DOMAINS_MAX = 20_000

export class StsPolicies {
  readonly #options: StsOptions
  readonly #known = new Map<string, Known>()
  /** Domains that nothing is stored of. Apart, as are the failures: they are not to push policies out. */
  readonly #unstored = new Map<string, { until: number }>()
  /** Policies that could not be fetched, and are not asked for again until then. */
  readonly #failed = new Map<string, { id: string; until: number }>()

  constructor(options: StsOptions) {
    this.#options = options
  }

  /** The policy to obey. Null when there is none, or one that is only being tested (RFC 8461 §5). */
  async enforcedFor(domain: string): Promise<StsPolicy | null> {
    const policy = await this.#policyFor(domain)
    return policy?.mode === 'enforce' ? policy : null
  }

  async #policyFor(domain: string): Promise<StsPolicy | null> {
    const id = await this.#idOf(domain)
    const known = this.#alive(this.#known, domain) ?? (await this.#stored(domain))
    // No record, or no answer: what is remembered stays in force until it lapses (RFC 8461 §5.1).
    if (id === null || id === known?.id || id === this.#alive(this.#failed, domain)?.id) return known?.policy ?? null
    const policy = await this.#fetch(domain)
    if (policy) {
      const fresh = { id, policy, until: this.#now() + policy.maxAgeSeconds * 1_000 }
      await this.#options.store?.save(domain, fresh)
      remember(this.#known, domain, fresh, DOMAINS_MAX)
      return policy
    }
    // A policy that cannot be had binds nobody (RFC 8461 §3.3), but an older one still does.
    remember(this.#failed, domain, { id, until: this.#now() + RETRY_MS }, DOMAINS_MAX)
    return known?.policy ?? null
  }

  /** What this process, before a restart, or another has learned. */
  async #stored(domain: string): Promise<Known | null> {
    const { store } = this.#options
    if (!store || this.#alive(this.#unstored, domain)) return null
    const found = await store.find(domain)
    if (found) remember(this.#known, domain, found, DOMAINS_MAX)
    else remember(this.#unstored, domain, { until: this.#now() + NOTHING_STORED_MS }, DOMAINS_MAX)
    return found
  }

  #alive<T extends { until: number }>(map: ReadonlyMap<string, T>, domain: string): T | null {
    const entry = map.get(domain)
    return entry && entry.until > this.#now() ? entry : null
  }

  async #idOf(domain: string): Promise<string | null> {
    const answer = await this.#options.txt(`_mta-sts.${domain}`)
    return answer.kind === 'found' ? readPolicyId(answer.values) : null
  }

  async #fetch(domain: string): Promise<StsPolicy | null> {
    try {
      return readPolicy(await this.#options.fetchText(domain))
    } catch {
      return null // whatever stood in the way, there is no policy to be had
    }
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}
