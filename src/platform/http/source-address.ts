// Where a request comes from: the socket's peer, or, behind trusted proxies, the right-most hop that is not one of
// them.
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
