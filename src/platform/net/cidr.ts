// Lists of networks ("10.0.0.0/8, ::1") and the question whether an address is inside one of them.
import { BlockList, isIP } from 'node:net'

export interface CidrList {
  readonly texts: readonly string[]
  contains(address: string): boolean
}

interface Cidr {
  address: string
  bits: number
  family: 'ipv4' | 'ipv6'
}

/** Null when the text is no CIDR; a bare address counts as a network of one. */
export function parseCidr(text: string): Cidr | null {
  const [address, bitsText, rest] = text.trim().split('/')
  const version = isIP(address ?? '')
  if (!address || version === 0 || rest !== undefined || address.includes('%')) return null
  const bitsMax = version === 4 ? 32 : 128
  if (bitsText !== undefined && !/^\d{1,3}$/.test(bitsText)) return null
  const bits = bitsText === undefined ? bitsMax : Number(bitsText)
  return bits > bitsMax ? null : { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Throws on a text that is no CIDR: validate with `parseCidr` where the text comes from outside. */
export function cidrList(texts: readonly string[]): CidrList {
  const list = new BlockList()
  for (const text of texts) {
    const cidr = parseCidr(text)
    if (!cidr) throw new Error(`not a CIDR: ${text}`)
    list.addSubnet(cidr.address, cidr.bits, cidr.family)
  }
  return {
    texts,
    contains: address => {
      const plain = unmapped(address)
      const version = isIP(plain)
      return version !== 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
    },
  }
}

/** Whether each of these networks lies whole in one of those. */
export const isWithin = (inner: readonly string[], outer: readonly string[]): boolean =>
  inner.every(text => {
    const cidr = parseCidr(text)
    return cidr !== null && outer.some(each => contains(each, cidr))
  })

function contains(text: string, { address, bits, family }: Cidr): boolean {
  const cidr = parseCidr(text)
  // The list would find an IPv4 address in its mapped form as well; a network of one family lies in none of the other.
  return cidr?.family === family && cidr.bits <= bits && cidrList([text]).contains(address)
}

/** A dual-stack socket reports IPv4 peers as ::ffff:1.2.3.4; the caller means 1.2.3.4. */
export const unmapped = (address: string): string =>
  /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address

/** An IPv4 address, or the /64 of an IPv6 one: a single line has that many, and would never be limited otherwise. */
export function networkOf(address: string): string {
  const plain = unmapped(address).split('%')[0]!
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last]
  return groups
    .slice(0, 4)
    .map(group => group.padStart(4, '0').toLowerCase())
    .join(':')
}

/** An IPv4 address, or the /48 of an IPv6 one, which is what a site is given: 65,536 networks are one neighbour still. */
export const siteOf = (address: string): string => networkOf(address).split(':', 3).join(':')
