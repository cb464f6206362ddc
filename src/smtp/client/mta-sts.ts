// MTA-STS (RFC 8461): what a domain demands of those who send to it, learned over HTTPS and remembered for as long as
// the domain asked, so that someone who later tampers with DNS cannot take it back.
import type { Clock } from '../../platform/clock.ts'
import type { DnsAnswer } from '../../platform/net/dns.ts'
import { readPolicy, readPolicyId, type StsPolicy } from './mta-sts-policy.ts'

interface Known {
  id: string
  /** Null: it could not be fetched, and is not asked for again until then. */
  policy: StsPolicy | null
  until: number
}

export interface StsOptions {
  clock: Clock
  txt: (name: string) => DnsAnswer<string> | Promise<DnsAnswer<string>>
  fetchText: (domain: string) => Promise<string>
}

const RETRY_MS = 300_000 // RFC 8461 §3.3 allows one fetch per domain in five minutes
const DOMAINS_MAX = 20_000

export class StsPolicies {
  readonly #options: StsOptions
  readonly #known = new Map<string, Known>()

  constructor(options: StsOptions) {
    this.#options = options
  }

  /** The policy to obey. Null when there is none, or one that is only being tested (RFC 8461 §5). */
  async enforcedFor(domain: string): Promise<StsPolicy | null> {
    const policy = await this.#policyFor(domain)
    return policy?.mode === 'enforce' ? policy : null
  }

  async #policyFor(domain: string): Promise<StsPolicy | null> {
    const remembered = this.#known.get(domain)
    const known = remembered && remembered.until > this.#now() ? remembered : null
    const id = await this.#idOf(domain)
    // No record, or no answer: what is remembered stays in force until it lapses (RFC 8461 §5.1).
    if (id === null || id === known?.id) return known?.policy ?? null
    const policy = await this.#fetch(domain)
    if (policy) {
      this.#remember(domain, { id, policy, until: this.#now() + policy.maxAgeSeconds * 1_000 })
      return policy
    }
    // A policy that cannot be had binds nobody (RFC 8461 §3.3), but an older one still does.
    if (known?.policy) return known.policy
    this.#remember(domain, { id, policy: null, until: this.#now() + RETRY_MS })
    return null
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

  #remember(domain: string, known: Known): void {
    if (this.#known.size >= DOMAINS_MAX) this.#known.delete(this.#known.keys().next().value!)
    this.#known.delete(domain)
    this.#known.set(domain, known)
  }

  #now(): number {
    return this.#options.clock.now().getTime()
  }
}
