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

interface TlsPoliciesOptions {
  clock: Clock
  dns: Pick<Dns, 'tlsa' | 'isSigned' | 'cname'>
}

interface Demands {
  /** Of the domain: MTA-STS in force. */
  mustVerify: boolean
  /** Of the sender. */
  requireTls: boolean
}

const HOSTS_MAX = 50_000
const ALIASES_MAX = 8

export class TlsPolicies {
  readonly #options: TlsPoliciesOptions
  readonly #published: SharedCache<TlsPolicy | Failure | null>

  constructor(options: TlsPoliciesOptions) {
    this.#options = options
    this.#published = new SharedCache({
      clock: options.clock,
      entriesMax: HOSTS_MAX,
      load: key => this.#load(key),
    })
  }

  /** Rejects with a `Failure` when it cannot be known: then nothing may be sent to that host. */
  policyFor(hop: Hop, demands: Demands): TlsPolicy | Promise<TlsPolicy> {
    return hop.isSigned ? this.#strictest(hop, demands) : asked(demands)
  }

  async #strictest(hop: Hop, demands: Demands): Promise<TlsPolicy> {
    const published = await this.#published.get(`${hop.port} ${hop.host}`)
    if (published instanceof Failure) throw published
    // DANE is the stronger proof and is not to be overridden (RFC 8461 §2); its mere wish for TLS is.
    const isWeaker = published === null || (published.kind === 'required' && demands.mustVerify)
    return isWeaker ? asked(demands) : published
  }

  /** Records that are not signed prove nothing: the host is as if it had none (RFC 7672 §2.2). */
  async #load(key: string): Promise<Loaded<TlsPolicy | Failure | null>> {
    const { dns } = this.#options
    const [port, host] = key.split(' ') as [string, string]
    // Name servers of unsigned zones may fail for TLSA, which is no reason to wait (RFC 7672 §2.2.2). Where nobody says
    // whether it is signed, the records are asked for: silence is what an attacker would cause.
    if ((await dns.isSigned(host, 'A')) === false) return { value: null, ttlMs: NEGATIVE_TTL_MS }
    // Of an alias first what it stands for, then the alias itself (RFC 7672 §2.2.3).
    for (const name of new Set([await this.#targetOf(host), host])) {
      const found = await this.#find(name, port)
      if (found) return { value: found, ttlMs: found instanceof Failure ? NEGATIVE_TTL_MS : RECORD_TTL_MS }
    }
    return { value: null, ttlMs: NEGATIVE_TTL_MS }
  }

  /** Its addresses are signed, and so are the aliases on the way to them. */
  async #targetOf(host: string): Promise<string> {
    let target = host
    for (let aliases = 0; aliases < ALIASES_MAX; aliases++) {
      const answer = await this.#options.dns.cname(target)
      if (answer.kind !== 'found') break
      target = answer.values[0]!
    }
    return target
  }

  async #find(host: string, port: string): Promise<TlsPolicy | Failure | null> {
    const { dns } = this.#options
    const name = `_${port}._tcp.${host}`
    const answer = await dns.tlsa(name)
    if (answer.kind === 'found') {
      const isSigned = await dns.isSigned(name, 'TLSA')
      if (isSigned !== null) return isSigned ? policyOf(answer.values, host) : null
      return new Failure({ phase: 'dns', reason: 'no resolver says whether its TLSA records are signed' })
    }
    if (answer.kind === 'none' || NO_TLSA_CODES.has(answer.code)) return null
    // An attacker who can suppress the records could else strip the encryption off: wait (RFC 7672 §2.1.2).
    return new Failure({ phase: 'dns', reason: `its TLSA records cannot be had: ${answer.reason}` })
  }
}

const asked = ({ mustVerify, requireTls }: Demands): TlsPolicy =>
  mustVerify ? VERIFIED : requireTls ? REQUIRED : OPPORTUNISTIC

/** The resolver itself, which is trusted, does not serve this type. */
const NO_TLSA_CODES = new Set(['NOTIMP', 'REFUSED', 'FORMERR'])

function policyOf(records: readonly Tlsa[], name: string): TlsPolicy {
  const usable = records.filter(isUsable)
  // Records that nobody can use still say that the host speaks TLS (RFC 7672 §2.2).
  if (usable.length === 0) return REQUIRED
  const texts = usable.map(({ usage, selector, matching, data }) => [usage, selector, matching, data.toString('hex')])
  const digest = createHash('sha256')
    .update(JSON.stringify([name, texts.toSorted()]))
    .digest('hex')
  return { kind: 'dane', key: `dane ${digest}`, records: usable, name }
}
