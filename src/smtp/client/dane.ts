// DANE for SMTP (RFC 7672): certificates that a domain publishes for its mail hosts in signed DNS.
//
// It is only used when the operator has named resolvers in DNS_SERVERS, which must be reached over a trusted path: whether an
// answer was signed is what they say (the AD bit).
import { createHash, X509Certificate } from 'node:crypto'
import type { Tlsa } from '../../platform/net/dns.ts'
import type { DetailedPeerCertificate } from 'node:tls'

/** Usages 0 and 1 add nothing where nobody agrees on authorities; they do not count (RFC 7672 §3.1.3). */
export function isUsable({ usage, selector, matching, data }: Tlsa): boolean {
  const lengths = [undefined, 32, 64]
  if (usage !== 2 && usage !== 3) return false
  if ((selector !== 0 && selector !== 1) || matching < 0 || matching > 2 || data.length === 0) return false
  return lengths[matching] === undefined || lengths[matching] === data.length
}

interface Presented {
  /** The host's certificate first, each followed by its issuer as far as the host has sent them. */
  chain: readonly X509Certificate[]
  /** What the certificate may be for: one of them. */
  names: readonly string[]
  now: Date
}

/** Whether any record vouches for what the host has shown. */
export function isVouchedFor(records: readonly Tlsa[], { chain, names, now }: Presented): boolean {
  const [own] = chain
  if (!own) return false
  // DANE-EE: the key is the proof; names and dates are not looked at (RFC 7672 §3.1.1).
  if (records.some(record => record.usage === 3 && matches(record, own))) return true
  const authorities = records.filter(({ usage }) => usage === 2)
  if (authorities.length === 0 || !names.some(name => isNamed(own, name))) return false
  return reachesAuthority(authorities, chain, now)
}

/** The chain that came with a handshake, without the authorities that the machine knows. */
export function presentedChain(certificate: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = []
  let current: DetailedPeerCertificate | undefined = certificate
  while (current?.raw && chain.length < CHAIN_MAX) {
    chain.push(new X509Certificate(current.raw))
    const issuer: DetailedPeerCertificate | undefined = current.issuerCertificate
    if (!issuer?.raw || issuer.raw.equals(current.raw)) break
    current = issuer
  }
  return chain
}

const CHAIN_MAX = 10 // OpenSSL itself stops at a hundred; real chains have three or four

/** DANE-TA: from the host's certificate, signature by signature, to one that is published (RFC 7672 §3.1.2). */
function reachesAuthority(authorities: readonly Tlsa[], chain: readonly X509Certificate[], now: Date): boolean {
  let current = chain[0]!
  for (const next of [...chain.slice(1), null]) {
    if (!isInDate(current, now)) return false
    const published = authorities.some(record => isIssuedByRecord(current, record))
    if (published) return true
    if (!next || !next.ca || !current.checkIssued(next) || !current.verify(next.publicKey)) return false
    if (authorities.some(record => matches(record, next))) return isInDate(next, now)
    current = next
  }
  return false
}

/** An authority that is published as a whole (2 0 0) need not be sent by the host (RFC 7672 §3.1.2). */
function isIssuedByRecord(certificate: X509Certificate, { selector, matching, data }: Tlsa): boolean {
  if (matching !== 0 || selector !== 0) return false
  try {
    const authority = new X509Certificate(data)
    return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  } catch {
    return false // not a certificate after all
  }
}

function matches({ selector, matching, data }: Tlsa, certificate: X509Certificate): boolean {
  const subject = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  if (matching === 0) return subject.equals(data)
  return createHash(matching === 1 ? 'sha256' : 'sha512')
    .update(subject)
    .digest()
    .equals(data)
}

const isInDate = ({ validFromDate, validToDate }: X509Certificate, now: Date): boolean =>
  validFromDate <= now && now <= validToDate

const isNamed = (certificate: X509Certificate, host: string): boolean =>
  certificate.checkHost(host, { subject: 'never' }) !== undefined
