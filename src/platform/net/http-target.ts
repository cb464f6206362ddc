// Where a URL that a customer chose points, and whether it may. Asked when it is given, and again of every connection, because
// names change where they lead.
import { isIP } from 'node:net'
import { mayConnect } from './address-guard.ts'
import type { CidrList } from './cidr.ts'
import type { Dns } from './dns.ts'
import { refuse } from '../refusal.ts'

/** The URL as it will be called; refused when it can be seen that it must not be. */
export async function requireTarget(
  text: string,
  { field, dns, allowed }: { field: string; dns: Dns; allowed: CidrList },
): Promise<string> {
  // The URL parser forgives slashes: of http:///x and http:x it makes http://x/, which nobody meant.
  const url = /^https?:\/\/[^/\\?#@\s]/i.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url) throw refuse('invalid_request', `${field} must begin with https:// or http:// and the name of a host.`)
  if (url.username !== '' || url.password !== '') throw refuse('invalid_request', `${field} must not hold credentials.`)
  url.hash = ''
  const answer = await locate(url.hostname, dns, allowed)
  // A name that leads nowhere yet may be set up later; each attempt looks again.
  if (answer.kind === 'forbidden') {
    throw refuse('invalid_request', `${field} must lead to a public address, not to a private or loopback one.`)
  }
  return url.href
}

export type Location =
  | { kind: 'found'; addresses: string[] }
  /** It leads, also, to a place that we do not call on anybody's behalf. */
  | { kind: 'forbidden' }
  | { kind: 'none' }
  | { kind: 'failed'; code: string }

/**
 * The addresses of a host as it stands in a URL. The URL parser has turned every spelling of an IPv4 address (decimal,
 * octal, hex, short) into the plain one.
 */
export async function locate(hostname: string, dns: Dns, allowed: CidrList): Promise<Location> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const answer = isIP(host) === 0 ? await dns.addresses(host) : { kind: 'found' as const, values: [host] }
  if (answer.kind !== 'found') return answer
  const isOpen = answer.values.every(address => mayConnect(address, allowed))
  return isOpen ? { kind: 'found', addresses: answer.values } : { kind: 'forbidden' }
}
