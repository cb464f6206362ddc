// SPF (RFC 7208) by mailauth, in its strict mode: at most ten look-ups and two that find nothing.
import type { Envelope } from './authenticate.ts'
import { spfLibrary } from './library.ts'
import { libraryResolver, type Resolve } from './resolve.ts'

export type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'

const RESULTS: readonly string[] = ['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror']
const LOOKUPS_MAX = 10 // RFC 7208 §4.6.4
const VOID_MAX = 2

/** Whether the client may send for the domain of the return path, or for its greeting when the path is empty. */
export async function checkSpf(
  { ip, helo, mailFrom }: Envelope,
  { resolve, hostname }: { resolve: Resolve; hostname: string },
): Promise<{ result: SpfResult; domain: string | null }> {
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
