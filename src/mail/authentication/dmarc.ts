// DMARC (RFC 9989) by mailauth: policy and organisational domain by the tree of names, strict and relaxed alignment. What
// decides is whether the author's domain is proven; a proof that could not be looked up now is a temporary error, and never
// a failure. One that the limits of a mail leave out is none: the sender chose how many there are.
import { organisationOf } from '../address/organisation.ts'
import { parseMailboxes } from '../mime/mailbox-list.ts'
import { headerText } from '../mime/charset.ts'
import { fieldValue, type RawField } from './header-fields.ts'
import { dmarcLibrary } from './library.ts'
import { libraryResolver, observed, type Resolve } from './resolve.ts'
import type { SpfResult } from './spf.ts'
import type { VerifiedSignature } from './verify-dkim.ts'

export type DmarcResult = 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
export type DmarcPolicy = 'none' | 'quarantine' | 'reject'

export interface Dmarc {
  result: DmarcResult
  policy: DmarcPolicy | null
  /** The author's domain; null when From names none, or several. */
  domain: string | null
  /** Whether a domain is the author's, as far as the policy's mode or else relaxed alignment goes. */
  aligns: { spf: boolean; dkim: (domain: string) => boolean }
}

interface Proofs {
  spf: { result: SpfResult; domain: string | null }
  signatures: readonly VerifiedSignature[]
}

export async function checkDmarc(fromFields: readonly RawField[], proofs: Proofs, resolve: Resolve): Promise<Dmarc> {
  const { evaluateDmarc } = await dmarcLibrary()
  const { spf, signatures } = proofs
  if (fromFields.reduce((sum, { raw }) => sum + raw.length, 0) > FROM_CHARS_MAX) return UNPROVEN
  const authors = fromFields.flatMap(authorsOf)
  let hasFailedLookup = false
  const watched = observed(resolve, reply => {
    if (reply.kind === 'failed') hasFailedLookup = true
  })
  const { response, dkimAligned } = await evaluateDmarc({
    headerFrom: authors,
    fromFields: fromFields.length,
    spfDomains: spf.result === 'pass' && spf.domain ? [spf.domain] : [],
    dkimDomains: signatures.filter(({ result }) => result === 'pass').map(({ domain }) => ({ domain })),
    resolver: libraryResolver(watched),
    strict: true,
  })
  // No author or several: nobody can vouch for them, and readers show different ones (RFC 9989 §5.3.1).
  if (!response) return UNPROVEN
  const domain = authorDomain(response.status.header?.['from'], authors)
  const isSameOrganisation = (other: string | null): boolean =>
    domain !== null && other !== null && organisationOf(other) === organisationOf(domain)
  const { result, policy } = outcomeOf(response, hasFailedLookup)
  const aligns = {
    spf: result === 'none' ? isSameOrganisation(spf.domain) : Boolean(response.alignment?.spf?.result),
    dkim: (other: string) => (result === 'none' ? isSameOrganisation(other) : (dkimAligned?.has(other) ?? false)),
  }
  const isOpen =
    (spf.result === 'temperror' && isSameOrganisation(spf.domain)) ||
    signatures.some(signature => signature.result === 'temperror' && isSameOrganisation(signature.domain))
  return { result: result === 'fail' && isOpen ? 'temperror' : result, policy, domain, aligns }
}

const UNPROVEN: Dmarc = {
  result: 'permerror',
  policy: null,
  domain: null,
  aligns: { spf: false, dkim: () => false },
}

/** One author with a long name takes a tenth of it. */
const FROM_CHARS_MAX = 10_000

interface Response {
  status: { result: string }
  policy?: string
}

/** The library takes a limit, ours or its own, for a failure of DNS. */
function outcomeOf(response: Response, hasFailedLookup: boolean): Pick<Dmarc, 'result' | 'policy'> {
  const result = RESULTS.find(each => each === response.status.result) ?? 'permerror'
  const policy = POLICIES.find(each => each === response.policy) ?? null
  if (result === 'temperror' && !hasFailedLookup) return { result: policy ? 'fail' : 'permerror', policy }
  return { result, policy }
}

const RESULTS: readonly DmarcResult[] = ['pass', 'fail', 'none', 'temperror']
const POLICIES: readonly DmarcPolicy[] = ['none', 'quarantine', 'reject']
/** More than one is as bad as many. */
const AUTHORS_MAX = 2

/** By the parser that also reads the mail for people, so that both see the same author. */
const authorsOf = (field: RawField): string[] =>
  parseMailboxes(headerText(fieldValue(field).replaceAll(/\r?\n/g, '')), AUTHORS_MAX).map(({ address }) => address)

function authorDomain(from: unknown, [author = '']: readonly string[]): string | null {
  const domain = typeof from === 'string' ? from : author.slice(author.lastIndexOf('@') + 1)
  return domain === '' ? null : domain.toLowerCase().replace(/\.$/, '')
}
