// Which addresses a request made on someone else's behalf may reach. Names come from strangers' DNS: without this they
// could point us at the machine itself, at its cloud's metadata service or at the network behind it.
import { BlockList, isIP } from 'node:net'
import type { CidrList } from './cidr.ts'

/** Whether to connect there: a public address, or one the operator has allowed. Anything that is no address is not. */
export function mayConnect(address: string, allowed: CidrList): boolean {
  return isPublic(address) || allowed.contains(plainForm(address))
}

/** A unicast address of the public internet, written plainly. */
export function isPublic(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !FORBIDDEN_IPV4.check(address, 'ipv4')
    case 6:
      // A zone (`%eth0`) only makes sense for a link, which is not public.
      return !address.includes('%') && GLOBAL_IPV6.check(address, 'ipv6') && !FORBIDDEN_IPV6.check(address, 'ipv6')
    default:
      return false
  }
}

export function isLoopback(address: string): boolean {
  const plain = plainForm(address)
  return isIP(plain) !== 0 && LOOPBACK.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
}

// The IANA special-purpose registry (RFC 6890 and its updates) without what is globally reachable in it.
const FORBIDDEN_IPV4 = networks([
  '0.0.0.0/8', // this network; the kernel takes 0.0.0.0 for the machine itself
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, and where clouds keep their metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // the retired 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
])

// Only this part of IPv6 is handed out for public use (RFC 4291 §2.4). Outside of it lie loopback, unique local,
// link-local and multicast addresses, IPv4 in its mapped and compatible forms, and both NAT64 prefixes.
const GLOBAL_IPV6 = networks(['2000::/3'])

const FORBIDDEN_IPV6 = networks([
  '2001::/23', // protocol assignments; Teredo, which carries an IPv4 address, is among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which carries an IPv4 address
  '3fff::/20', // documentation
])

const LOOPBACK = networks(['127.0.0.0/8', '::1/128'])

function networks(cidrs: string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address, bits] = cidr.split('/')
    list.addSubnet(address!, Number(bits), isIP(address!) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** An IPv4 address in its mapped form, in either spelling, as the IPv4 address that the kernel would connect to. */
function plainForm(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address
  // The URL parser knows every spelling of IPv6 and writes one: mapped addresses come out as two groups of hex.
  const mapped = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname)
  if (!mapped) return address
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
