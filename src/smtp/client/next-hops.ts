// Where mail for a domain goes: a static route, or the domain's MX hosts (RFC 5321 §5.1), or the domain itself, or
// nowhere. What was found out is kept for a while, as one value per domain.
import { randomInt } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import type { SmtpRoute } from '../../platform/config.ts'
import { NEGATIVE_TTL_MS, RECORD_TTL_MS, type Dns, type MxHost } from '../../platform/net/dns.ts'
import { allowsHost } from './mta-sts-policy.ts'
import type { StsPolicies } from './mta-sts.ts'
import { Failure } from './outcome.ts'
import type { Penalties } from './penalties.ts'
import { SharedCache, type Loaded } from '../../platform/shared-cache.ts'

export interface Hop {
  /** Connections to hops with the same key are interchangeable. */
  key: string
  host: string
  port: number
  /** Named by the operator: private addresses are allowed, and no policy of the domain applies. */
  isStatic: boolean
  auth: Login | null
  preference: number
  /** The domain has signed that this host takes its mail (DNSSEC), or nobody can say at the moment that it has not. */
  isSigned?: boolean
  /** TLS from the first byte on, where it is not offered by STARTTLS. */
  isImplicitTls?: boolean
  /** Where it takes fewer connections than other hosts do. */
  connectionsMax?: number
}

/** With a password, or with a token of OAuth. */
export type Login = { user: string; pass: string } | { user: string; accessToken: string }

type Route =
  /** `mustVerify`: the domain demands valid certificates (MTA-STS). */
  { kind: 'hops'; hops: readonly Hop[]; mustVerify: boolean } | { kind: 'none'; failure: Failure }

interface NextHopsOptions {
  routes: readonly SmtpRoute[]
  mxPort: number
  clock: Clock
  dns: Pick<Dns, 'mx' | 'cached' | 'isSigned'>
  sts: Pick<StsPolicies, 'enforcedFor'>
}

const DOMAINS_MAX = 50_000

export class NextHops {
  readonly #options: NextHopsOptions
  readonly #static: Map<string, Route>
  readonly #routes: SharedCache<Route>

  constructor(options: NextHopsOptions) {
    this.#options = options
    const byDomain = Map.groupBy(options.routes, ({ domain }) => domain)
    this.#static = new Map([...byDomain].map(([domain, routes]) => [domain, staticRoute(routes)]))
    this.#routes = new SharedCache({
      clock: options.clock,
      entriesMax: DOMAINS_MAX,
      load: domain => this.#load(domain),
    })
  }

  routeFor(domain: string): Route | Promise<Route> {
    return this.#static.get(domain) ?? this.#static.get('*') ?? this.#routes.get(domain)
  }

  async #load(domain: string): Promise<Loaded<Route>> {
    const found = await this.#findHosts(domain)
    if (found instanceof Failure) return { value: { kind: 'none', failure: found }, ttlMs: NEGATIVE_TTL_MS }
    const { sts, dns } = this.#options
    const [policy, signed] = await Promise.all([sts.enforcedFor(domain), dns.isSigned(domain, 'MX')])
    const allowed = policy ? found.filter(({ host }) => allowsHost(policy, host)) : found
    if (allowed.length === 0) {
      // Either DNS or the policy is being tampered with or changed just now: wait, do not bounce (RFC 8461 §4.2).
      const failure = new Failure({ phase: 'tls', reason: 'no MX host of the domain is allowed by its MTA-STS policy' })
      return { value: { kind: 'none', failure }, ttlMs: NEGATIVE_TTL_MS }
    }
    const hops = allowed.map(record => ({ ...this.#hop(record), isSigned: signed !== false }))
    return { value: { kind: 'hops', hops, mustVerify: policy !== null }, ttlMs: RECORD_TTL_MS }
  }

  async #findHosts(domain: string): Promise<MxHost[] | Failure> {
    const { dns } = this.#options
    const mx = await dns.mx(domain)
    if (mx.kind === 'failed') return new Failure({ phase: 'dns', reason: mx.reason })
    if (mx.kind === 'found') {
      const names = new Map(mx.values.toReversed().map(record => [record.host, record]))
      const hosts = mx.values.filter(record => record.host !== '' && names.get(record.host) === record)
      if (hosts.length > 0) return hosts
      // A single MX of "." (RFC 7505): the domain says that it takes no mail.
      return new Failure({ phase: 'dns', reason: 'the domain accepts no mail', isPermanent: true, code: '5.1.10' })
    }
    if (mx.isNxdomain) return noSuchDomain()
    const own = await dns.cached.addresses(domain)
    if (own.kind === 'failed') return new Failure({ phase: 'dns', reason: own.reason })
    if (own.kind === 'found') return [{ host: domain, priority: 0 }]
    if (own.isNxdomain) return noSuchDomain()
    return new Failure({ phase: 'dns', reason: 'the domain has no mail host', isPermanent: true, code: '5.4.4' })
  }

  #hop({ host, priority: preference }: MxHost): Hop {
    const port = this.#options.mxPort
    return { key: `mx ${host} ${port}`, host, port, isStatic: false, auth: null, preference }
  }
}

const noSuchDomain = (): Failure =>
  new Failure({ phase: 'dns', reason: 'the domain does not exist', isPermanent: true, code: '5.1.2' })

/** Several routes for one domain are tried in the order they were written. */
function staticRoute(routes: readonly SmtpRoute[]): Route {
  const hops = routes.map(({ host, port, auth }, preference) => {
    // Never shared with MX delivery to the same name, which may not go where this may.
    const key = `route ${host} ${port} ${auth?.user ?? ''}`
    return { key, host, port, isStatic: true, auth, preference }
  })
  return { kind: 'hops', hops, mustVerify: false }
}

/** Hostile DNS can name a hundred hosts that never answer; five are what anyone needs. */
const HOPS_MAX = 5

/**
 * The order to try them in: by preference, at random among equals to spread the load (RFC 5321 §5.1), those that
 * refused a connection lately behind all others.
 */
export function inOrder(hops: readonly Hop[], penalties: Penalties): readonly Hop[] {
  if (hops.length === 1) return hops
  const drawn = hops.map(hop => ({ hop, isPenalised: penalties.has(hop.key), lot: randomInt(LOTS) }))
  drawn.sort(
    (a, b) => Number(a.isPenalised) - Number(b.isPenalised) || a.hop.preference - b.hop.preference || a.lot - b.lot,
  )
  return drawn.slice(0, HOPS_MAX).map(({ hop }) => hop)
}

const LOTS = 1_000_000
