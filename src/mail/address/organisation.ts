// Which organisation a domain name belongs to: the name below its public suffix, as the public suffix list has it. Names
// under a suffix that its owner lets to others (github.io) belong to those others.
import { getDomain } from 'tldts'

const OPTIONS = { allowPrivateDomains: true, extractHostname: false }

/** `mail.acme.co.uk` gives `acme.co.uk`. A name that is itself a suffix, or has none, is its own organisation. */
export function organisationOf(domain: string): string {
  const name = domain.toLowerCase().replace(/\.$/, '')
  return getDomain(name, OPTIONS) ?? name
}
