// Proofs count for the author whom the reader is shown. DMARC reads From with the reader's own parser, and still the header as
// signatures see it is another view of the mail than the one that people get: where the two name different authors, nothing
// is proven.
import { domainToASCII } from 'node:url'
import type { Authentication } from './authenticate.ts'

/** The same where the only author shown is of the domain that was checked, or none was. */
export function ofAuthor(auth: Authentication, shown: readonly { address: string }[]): Authentication {
  const { domain, result } = auth.dmarc
  if (domain === null && result !== 'pass') return auth
  if (domain !== null && shown.length === 1 && domainOf(shown[0]!.address) === domainOf(domain)) return auth
  return {
    spf: { ...auth.spf, aligned: false },
    dkim: { ...auth.dkim, signatures: auth.dkim.signatures.map(signature => ({ ...signature, aligned: false })) },
    dmarc: { ...auth.dmarc, result: 'permerror', domain: null },
    arc: auth.arc,
  }
}

/** Of an address, or the domain itself. */
function domainOf(text: string): string {
  const domain = text.slice(text.lastIndexOf('@') + 1).replace(/\.$/, '')
  return domainToASCII(domain) || domain.toLowerCase()
}
