// Fetches the MTA-STS policy of a domain (RFC 8461 §3.3). This is a request to an address chosen by a stranger: only
// public addresses, only 200, no redirect, a verified certificate, a small body, one deadline.
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { checkServerIdentity, rootCertificates, type PeerCertificate } from 'node:tls'
import type { DnsAnswer } from '../../platform/net/dns.ts'

export interface PolicyFetch {
  addressesOf: (name: string) => DnsAnswer<string> | Promise<DnsAnswer<string>>
  mayConnect: (address: string) => boolean
  port: number
  timeoutMs: number
  trusted: readonly string[]
}

const POLICY_BYTES_MAX = 65_536 // RFC 8461 §3.3 suggests 64 KiB

/** The text of the policy. Rejects when there is none to be had. */
export async function fetchPolicyText(domain: string, options: PolicyFetch): Promise<string> {
  const host = `mta-sts.${domain}`
  const answer = await options.addressesOf(host)
  if (answer.kind !== 'found') throw new Error(`${host} has no address`)
  const address = answer.values.find(candidate => options.mayConnect(candidate))
  if (!address) throw new Error(`${host} has no public address`)
  return await get(host, address, options)
}

function get(host: string, address: string, { mayConnect, port, timeoutMs, trusted }: PolicyFetch): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const outgoing = request({
    host: address,
    port,
    servername: host,
    path: '/.well-known/mta-sts.txt',
    headers: { host, accept: 'text/plain' },
    // A connection of its own: one from a pool might have been verified for something else.
    agent: false,
    checkServerIdentity: (name, certificate) =>
      checkServerIdentity(name, certificate) ?? checkSubjectNames(name, certificate),
    ...(trusted.length > 0 ? { ca: [...rootCertificates, ...trusted] } : {}),
  })
  const fail = (what: string): void => {
    reject(new Error(`${host} ${what}`))
    outgoing.destroy()
  }
  const timer = setTimeout(() => fail('did not answer in time'), timeoutMs)
  outgoing.on('error', reject)
  outgoing.on('socket', socket => {
    socket.on('connect', () => {
      if (!mayConnect(socket.remoteAddress ?? '')) fail('is at a forbidden address')
    })
  })
  outgoing.on('response', response => {
    response.on('error', reject)
    const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    if (response.statusCode !== 200) return fail(`answered ${response.statusCode}`)
    if (type !== 'text/plain') return fail('answered with no plain text')
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > POLICY_BYTES_MAX) fail('answered with too much')
    })
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
  })
  outgoing.end()
  return promise.finally(() => clearTimeout(timer))
}

/** Only DNS names in subjectAltName count, and a wildcard only for one whole label (RFC 8461 §3.3). */
function checkSubjectNames(host: string, { raw }: PeerCertificate): Error | undefined {
  const options = { subject: 'never', partialWildcards: false } as const
  return new X509Certificate(raw).checkHost(host, options) ? undefined : new Error(`certificate is not for ${host}`)
}
