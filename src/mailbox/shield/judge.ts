// The verdict on a mail: what was found, who sent it, and what the owner of the inbox wants. Findings are recorded when the
// shield observes and block when it enforces. Taint does not depend on the mode: it says how far a thread may be trusted.
import { normaliseDomain, parseAddressOnly } from '../../mail/address/address.ts'
import type { Authentication } from '../../mail/authentication/authenticate.ts'
import type { Mailbox } from '../../mail/mime/parsed-mail.ts'
import { shown, type Finding, type FindingKind } from './finding.ts'
import { domainOf, inspectAgainstKnown } from './sender.ts'

/** The part of an inbox's policy that the shield goes by. */
interface ShieldPolicy {
  shield_mode: 'off' | 'observe' | 'enforce'
  block_unauthenticated: boolean
  allow_senders: readonly string[]
  block_senders: readonly string[]
}

interface JudgedMail {
  findings: readonly Finding[]
  auth: Authentication
  /** The author; null when From names none, or several. */
  from: Mailbox | null
  /** Every address that the mail says it is from: all authors, who sent it for them, and the envelope. */
  senders: readonly string[]
  inbox: { address: string; policy: ShieldPolicy }
  /** Domains that the inbox has written to. */
  correspondents: readonly string[]
}

type ReasonKind = FindingKind | 'blocked_sender' | 'unauthenticated'

interface Reason {
  kind: ReasonKind
  where: Finding['where']
  detail: string
}

export interface Shield {
  verdict: 'clean' | 'suspicious' | 'blocked'
  /** What speaks for the verdict. */
  reasons: Reason[]
  blocked: boolean
  tainted: boolean
  /** Why the thread is not to be trusted; a lack of authentication taints without making a mail suspicious. */
  taintReasons: Reason[]
}

/** Answers that go elsewhere are common among honest senders, so they neither block nor taint. */
const BLOCKING: readonly ReasonKind[] = ['instructions', 'lookalike_sender', 'dangerous_attachment']
const TAINTING: readonly ReasonKind[] = ['instructions', 'hidden_text', 'lookalike_sender', 'unreadable']

export function judge({ findings, auth, from, senders, inbox, correspondents }: JudgedMail): Shield {
  const { policy } = inbox
  for (const sender of senders) {
    const blockedBy = matching(policy.block_senders, sender)
    if (blockedBy !== null) return blockedSender(blockedBy, sender)
  }
  const missing = missingAuthentication(auth)
  // An address is believed only when its domain is proven: anybody can write an allowed one.
  if (from && missing === null && matching(policy.allow_senders, from.address)) return clean()
  if (policy.shield_mode === 'off')
    return { ...clean(), tainted: missing !== null, taintReasons: missing ? [missing] : [] }
  const lookalike = from ? inspectAgainstKnown(from, [domainOf(inbox.address), ...correspondents]) : []
  const found: Reason[] = [...lookalike, ...findings]
  const taintReasons = [...found.filter(({ kind }) => TAINTING.includes(kind)), ...(missing ? [missing] : [])]
  const isOpen = auth.dmarc.result === 'temperror'
  const isUnauthenticated = missing !== null && !isOpen && policy.block_unauthenticated
  const hasFailed = auth.dmarc.result === 'fail' || auth.dmarc.result === 'permerror'
  const reasons = missing && (isUnauthenticated || hasFailed) ? [...found, missing] : found
  const isBlocking = isUnauthenticated || found.some(({ kind }) => BLOCKING.includes(kind))
  const blocked = policy.shield_mode === 'enforce' && isBlocking
  const verdict = blocked ? 'blocked' : reasons.length > 0 ? 'suspicious' : 'clean'
  return { verdict, reasons, blocked, tainted: taintReasons.length > 0, taintReasons }
}

const clean = (): Shield => ({ verdict: 'clean', reasons: [], blocked: false, tainted: false, taintReasons: [] })

/** The owner's order acts in every mode. */
function blockedSender(entry: string, address: string): Shield {
  const reasons: Reason[] = [
    { kind: 'blocked_sender', where: 'from', detail: `${address} is blocked by the entry ${entry}` },
  ]
  return { verdict: 'blocked', reasons, blocked: true, tainted: true, taintReasons: reasons }
}

/**
 * The entry that the address falls under: the address itself, its domain or a domain above it. Entries are stored in one
 * spelling; a sender may write another that means the same: quotes, a dot at the end, a domain in its own script.
 */
function matching(entries: readonly string[], address: string): string | null {
  const plain = address.normalize('NFKC').replace(/\.$/, '')
  const lower = (parseAddressOnly(plain)?.address ?? plain).toLowerCase()
  const domain = normaliseDomain(domainOf(lower)) ?? domainOf(lower)
  return (
    entries.find(entry => {
      const wanted = entry.toLowerCase().replace(/^@/, '')
      return wanted.includes('@') ? wanted === lower : domain === wanted || domain.endsWith(`.${wanted}`)
    }) ?? null
  )
}

/**
 * Why the author is not proven, or null. Without a policy of the author's domain there is no DMARC to pass: then a signature or
 * a permitted client of the author's organisation is enough. A failure of DNS leaves it open: it taints, and blocks nothing.
 */
function missingAuthentication({ dmarc, spf, dkim }: Authentication): Reason | null {
  const isAligned = spf.aligned || dkim.signatures.some(({ result, aligned }) => result === 'pass' && aligned)
  if (dmarc.result === 'pass' || (dmarc.result === 'none' && isAligned)) return null
  const seen = `spf=${spf.result} dkim=${dkim.result} dmarc=${dmarc.result}`
  const domain = dmarc.domain ?? 'no single domain'
  return { kind: 'unauthenticated', where: 'from', detail: shown(`${domain} is not proven: ${seen}`, 200) }
}
