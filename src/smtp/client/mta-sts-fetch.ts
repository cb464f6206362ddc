// Fetches the MTA-STS policy of a domain (RFC 8461 §3.3): a request to an address chosen by a stranger, whose certificate must
// name the host as mail wants it.
import { X509Certificate } from 'node:crypto'
import { checkServerIdentity, rootCertificates, type PeerCertificate } from 'node:tls'
import type { CidrList } from '../../platform/net/cidr.ts'
import type { Dns } from '../../platform/net/dns.ts'
import { GuardedHttp } from '../../platform/net/guarded-http.ts'

interface PolicyFetch {
  dns: Dns
  allowed: CidrList
  port: number
  timeoutMs: number
  /** Beside the usual authorities. */
  trusted: readonly string[]
}

/** Answers the text of a domain's policy. Rejects when there is none to be had. */
export function policyFetcher({ port, trusted, ...options }: PolicyFetch): (domain: string) => Promise<string> {
  const http = new GuardedHttp({
    ...options,
    ...(trusted.length > 0 && { trusted: [...rootCertificates, ...trusted] }),
    checkServerIdentity: (host, certificate) =>
      checkServerIdentity(host, certificate) ?? checkSubjectNames(host, certificate),
    isKeptAlive: false,
  })
  return domain => http.fetchText(new URL(`https://mta-sts.${domain}:${port}/.well-known/mta-sts.txt`))
}

/** Only DNS names in subjectAltName count, and a wildcard only for one whole label (RFC 8461 §3.3). */
function checkSubjectNames(host: string, { raw }: PeerCertificate): Error | undefined {
  const options = { subject: 'never', partialWildcards: false } as const
  return new X509Certificate(raw).checkHost(host, options) ? undefined : new Error(`certificate is not for ${host}`)
}
