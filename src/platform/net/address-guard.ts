// Which addresses a request made on someone else's behalf may reach. Names come from strangers' DNS: without this they
// could point us at the machine itself, at its cloud's metadata service or at the network behind it.
import { BlockList, isIP } from 'node:net'
import { cidrList, parseCidr, type CidrList } from './cidr.ts'

/** Whether to connect there: a public address, or one the operator has allowed. Anything that is no address is not. */
export function mayConnect(address: string, allowed: CidrList): boolean {
  // An operator who allows a whole network means its machines, not what gives a cloud's credentials away.
  const reached = translatedForm(address)
  if (METADATA.contains(reached)) return namesAlone(allowed, reached)
  return isPublic(address) || allowed.contains(plainForm(address))
}

/** Whether one of the entries is this very address. */
const namesAlone = ({ texts }: CidrList, address: string): boolean =>
  texts.some(text => {
    const cidr = parseCidr(text)
    return cidr?.bits === (cidr?.family === 'ipv4' ? 32 : 128) && cidrList([text]).contains(address)
  })

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
  '168.63.129.16/32', // Azure's wire server: public by its number, on every virtual machine's own host in fact
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

// Where clouds answer their own machines: metadata, credentials of instances, containers and pods, their DNS and time.
const METADATA = cidrList([
  '168.63.129.16', // Azure
  '169.254.169.254', // AWS, Azure, Google, Oracle, DigitalOcean, OpenStack, Hetzner
  '169.254.169.253', // AWS
  '169.254.169.123', // AWS
  '169.254.169.250', // AWS
  '169.254.169.251', // AWS
  '169.254.170.2', // AWS, containers
  '169.254.170.23', // AWS, pods
  '169.254.0.23', // Tencent
  '169.254.42.42', // Scaleway
  '100.100.100.200', // Alibaba
  '192.0.0.192', // Oracle
  'fd00:ec2::254', // AWS
  'fd00:ec2::253', // AWS
  'fd00:ec2::23', // AWS, pods
  'fd00:c1::a9fe:a9fe', // Oracle
  'fd20:ce::254', // Google
  'fd00:42::42', // Scaleway
  'fe80::a9fe:a9fe', // OpenStack
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
const plainForm = (address: string): string => embeddedIpv4(address, '::ffff') ?? address

/** The same for NAT64 (RFC 6052), where the network connects to the IPv4 address in the end. */
const translatedForm = (address: string): string => embeddedIpv4(address, '64:ff9b:') ?? plainForm(address)

function embeddedIpv4(address: string, prefix: '::ffff' | '64:ff9b:'): string | null {
  if (isIP(address) !== 6 || address.includes('%')) return null
  // The URL parser knows every spelling of IPv6 and writes one: mapped addresses come out as two groups of hex.
  const { hostname } = new URL(`http://[${address}]`)
  const groups = hostname.startsWith(`[${prefix}:`) ? hostname.slice(prefix.length + 2, -1).split(':') : []
  if (groups.length !== 2) return null
  const [high, low] = [parseInt(groups[0] || '0', 16), parseInt(groups[1] || '0', 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
