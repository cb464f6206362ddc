// SPF (RFC 7208) by mailauth, in its strict mode: at most ten look-ups and two that find nothing. A record that takes more
// questions or time than a mail may is a permanent error: it was its publisher's choice.
import type { Envelope } from './authenticate.ts'
import { spfLibrary } from './library.ts'
import type { RecentSpf } from './recent-spf.ts'
import { libraryResolver, observed, type Resolve } from './resolve.ts'

export type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'

const RESULTS: readonly string[] = ['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror']
const LOOKUPS_MAX = 10 // RFC 7208 §4.6.4
const VOID_MAX = 2

export interface SpfOutcome {
  result: SpfResult
  domain: string | null
}

interface Options {
  resolve: Resolve
  hostname: string
  now: Date
  recent: RecentSpf
}

/** Whether the client may send for the domain of the return path, or for its greeting when the path is empty. */
export async function checkSpf(envelope: Envelope, options: Options): Promise<SpfOutcome> {
  const { ip, helo, mailFrom } = envelope
  const { now, recent } = options
  const domain = mailFrom === '' ? helo : mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
  const known = recent.find(ip, domain, now)
  if (known) return known
  let mayDiffer = false
  let isLimited = false
  const resolve = observed(options.resolve, (reply, type) => {
    // The library takes some look-ups that fail for answers that match nothing.
    if (reply.kind === 'failed' || reply.kind === 'limited') mayDiffer = true
    if (reply.kind === 'limited') isLimited = true
    if (type === 'TXT' && reply.kind === 'found') mayDiffer ||= reply.values.some(isWithMacros)
  })
  const evaluated = await evaluate(envelope, { ...options, resolve })
  // RFC 7208 §4.6.4 calls too long a time a temporary error. Then a sender could keep DMARC open by slow name servers.
  const outcome: SpfOutcome =
    isLimited && evaluated.result === 'temperror' ? { ...evaluated, result: 'permerror' } : evaluated
  const isOfDomain = outcome.domain?.toLowerCase() === domain.toLowerCase()
  if (isOfDomain && !mayDiffer && outcome.result !== 'temperror') recent.keep(ip, domain, now, outcome)
  return outcome
}

const isWithMacros = (text: unknown): boolean => typeof text === 'string' && text.includes('%')

async function evaluate({ ip, helo, mailFrom }: Envelope, { resolve, hostname }: Options): Promise<SpfOutcome> {
  const { spf } = await spfLibrary()
  const { domain, status } = await spf({
    sender: mailFrom,
    ip,
    helo,
    mta: hostname,
    maxResolveCount: LOOKUPS_MAX,
    maxVoidCount: VOID_MAX,
    resolver: libraryResolver(resolve),
    strict: true,
  })
  const result = RESULTS.includes(status.result) ? (status.result as SpfResult) : 'temperror'
  return { result, domain: /^[\w.-]+$/.test(domain) && domain !== '-' ? domain : null }
}
