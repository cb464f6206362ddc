// Finds out what TLS must prove on the way to a host: the strictest of what the host's DNS (DANE), the domain (MTA-STS)
// and the sender demand.
import { createHash } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { isUsable } from './dane.ts'
import { NEGATIVE_TTL_MS, RECORD_TTL_MS, type Dns, type Tlsa } from '../../platform/net/dns.ts'
import type { Hop } from './next-hops.ts'
import { Failure } from './outcome.ts'
import { SharedCache, type Loaded } from '../../platform/shared-cache.ts'
import { OPPORTUNISTIC, REQUIRED, VERIFIED, type TlsPolicy } from './tls-policy.ts'

export interface TlsPoliciesOptions {
  clock: Clock
  dns: Pick<Dns, 'tlsa' | 'isValidating'>
  /** The resolvers were named by the operator, so that they can be trusted to validate (see `dane.ts`). */
}

export interface Demands {
  /** Of the domain: MTA-STS in force. */
  mustVerify: boolean
  /** Of the sender. */
  requireTls: boolean
}

const HOSTS_MAX = 50_000

export class TlsPolicies {
  readonly #options: TlsPoliciesOptions
  readonly #published: SharedCache<TlsPolicy | Failure | null>

  constructor(options: TlsPoliciesOptions) {
    this.#options = options
    this.#published = new SharedCache({
      clock: options.clock,
      entriesMax: HOSTS_MAX,
      load: name => this.#load(name),
    })
  }

  /** Rejects with a `Failure` when it cannot be known: then nothing may be sent to that host. */
  policyFor(hop: Hop, demands: Demands): TlsPolicy | Promise<TlsPolicy> {
    return hop.isStatic || !this.#options.dns.isValidating ? asked(demands) : this.#strictest(hop, demands)
  }

  async #strictest(hop: Hop, demands: Demands): Promise<TlsPolicy> {
    const published = await this.#published.get(`_${hop.port}._tcp.${hop.host}`)
    if (published instanceof Failure) throw published
    // DANE is the stronger proof and is not to be overridden (RFC 8461 §2); its mere wish for TLS is.
    const isWeaker = published === null || (published.kind === 'required' && demands.mustVerify)
    return isWeaker ? asked(demands) : published
  }

  async #load(name: string): Promise<Loaded<TlsPolicy | Failure | null>> {
    const answer = await this.#options.dns.tlsa(name)
    if (answer.kind === 'found') return { value: policyOf(answer.values), ttlMs: RECORD_TTL_MS }
    if (answer.kind === 'none' || NO_TLSA_CODES.has(answer.code)) return { value: null, ttlMs: NEGATIVE_TTL_MS }
    // Whoever can suppress the records could else strip the encryption off: wait (RFC 7672 §2.1.2).
    const failure = new Failure({ phase: 'dns', reason: `its TLSA records cannot be had: ${answer.reason}` })
    return { value: failure, ttlMs: NEGATIVE_TTL_MS }
  }
}

const asked = ({ mustVerify, requireTls }: Demands): TlsPolicy =>
  mustVerify ? VERIFIED : requireTls ? REQUIRED : OPPORTUNISTIC

/** The resolver itself, which is trusted, does not serve this type. */
const NO_TLSA_CODES = new Set(['NOTIMP', 'REFUSED', 'FORMERR'])

function policyOf(records: readonly Tlsa[]): TlsPolicy {
  const usable = records.filter(isUsable)
  // Records that nobody can use still say that the host speaks TLS (RFC 7672 §2.2).
  if (usable.length === 0) return REQUIRED
  const texts = usable.map(({ usage, selector, matching, data }) => [usage, selector, matching, data.toString('hex')])
  const digest = createHash('sha256').update(JSON.stringify(texts.toSorted())).digest('hex')
  return { kind: 'dane', key: `dane ${digest}`, records: usable }
}
