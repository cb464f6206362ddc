// Where a URL that a customer chose points, and whether it may. Asked when it is given, and again of every connection, because
// names change where they lead.
import { isIP } from 'node:net'
import { mayConnect } from './address-guard.ts'
import type { CidrList } from './cidr.ts'
import type { Dns, DnsAnswer } from './dns.ts'
import { refuse } from '../refusal.ts'

/** Somebody waits for the answer; a name that cannot be looked up by then is judged at the first request to it. */
const LOOK_UP_MS_MAX = 3_000

/** The URL as it will be called; refused when it can be seen that it must not be. */
export async function requireTarget(
  text: string,
  { field, dns, allowed }: { field: string; dns: Dns; allowed: CidrList },
): Promise<string> {
  // The URL parser drops line breaks and tabs wherever they are: what is called would not be what was given.
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) {
    throw refuse('invalid_request', `${field} must not contain line breaks or other control characters.`)
  }
  // The URL parser forgives slashes: of http:///x and http:x it makes http://x/, which nobody meant.
  const url = /^https?:\/\/[^/\\?#@\s]/i.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url) throw refuse('invalid_request', `${field} must begin with https:// or http:// and the name of a host.`)
  if (url.username !== '' || url.password !== '')
    throw refuse('invalid_request', `${field} must not contain credentials.`)
  if (!isNameable(url.hostname)) throw refuse('invalid_request', `${field} must have a host that can be in DNS.`)
  url.hash = ''
  const answer = await locate(url.hostname, { dns, allowed, timeoutMs: LOOK_UP_MS_MAX })
  // A name that leads nowhere yet may be set up later; each attempt looks again.
  if (answer.kind === 'forbidden') {
    throw refuse('invalid_request', `${field} must lead to a public address, not to a private or loopback one.`)
  }
  return url.href
}

/** RFC 1035 §2.3.4: labels of 1 to 63 octets, 253 in all when written; the dot at the end may be there. */
function isNameable(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '')
  return name.length <= 253 && name.split('.').every(label => label.length >= 1 && label.length <= 63)
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
export async function locate(
  hostname: string,
  { dns, allowed, timeoutMs }: { dns: Dns; allowed: CidrList; timeoutMs?: number },
): Promise<Location> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const answer = known(host) ?? (await dns.addresses(host, timeoutMs))
  if (answer.kind !== 'found') return answer
  const isOpen = answer.values.every(address => mayConnect(address, allowed))
  return isOpen ? { kind: 'found', addresses: answer.values } : { kind: 'forbidden' }
}

/** `localhost` and `invalid` are answered here: no resolver may be asked for them (RFC 6761 §6.3, §6.4). */
function known(host: string): Extract<DnsAnswer<string>, { kind: 'found' | 'none' }> | null {
  if (isIP(host) !== 0) return { kind: 'found', values: [host] }
  if (/(^|\.)localhost\.?$/i.test(host)) return { kind: 'found', values: ['127.0.0.1'] }
  return /(^|\.)invalid\.?$/i.test(host) ? { kind: 'none', isNxdomain: true } : null
}
