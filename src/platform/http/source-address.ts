// Where a request comes from: the socket's peer, or, behind trusted proxies, the right-most hop that is not one of
// them.
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { unmapped, type CidrList } from '../net/cidr.ts'

export function sourceAddress(peer: string, forwardedFor: string | undefined, trusted: CidrList): string {
  let address = unmapped(peer)
  if (!forwardedFor || !trusted.contains(address)) return address
  // Each proxy appends the peer it saw; what stands left of the first untrusted hop may be forged.
  for (const hop of forwardedFor.split(',').toReversed()) {
    const candidate = unmapped(hop.trim())
    if (isIP(candidate) === 0) return address
    address = candidate
    if (!trusted.contains(address)) return address
  }
  return address
}

const FORWARDING = ['x-forwarded-for', 'x-real-ip', 'forwarded'] as const

/**
 * Whether a proxy that we were not told to trust passed the request on: its address is the proxy's, and says nothing
 * about who asked.
 */
export const isForwardedByStranger = (peer: string, headers: IncomingHttpHeaders, trusted: CidrList): boolean =>
  FORWARDING.some(name => headers[name] !== undefined) && !trusted.contains(unmapped(peer))
