// What the policy of an inbox says to a mail that is about to leave: refused, held for a person, or free to go. The same for
// every door.
import { refuse, type Refusal } from '../../platform/refusal.ts'
import type { Recipient } from '../../sending/messages/submission.ts'
import type { Policy } from '../inboxes/policy.ts'
import type { Shield } from '../messages/message-schema.ts'
import type { Finding } from './dlp/scan.ts'
import type { Inspected } from './inspect.ts'

export interface Reason {
  kind: 'dlp' | 'taint' | 'rate' | 'expired'
  detail: string
  findings?: Finding[]
}

/** A domain allows itself and nothing below it. */
export function recipientRefusal(
  policy: Policy,
  recipients: readonly Pick<Recipient, 'address' | 'domain'>[],
): Refusal | null {
  if (policy.allow_recipients.length === 0) return null
  const allowed = new Set(policy.allow_recipients)
  const other = recipients.find(({ address, domain }) => !allowed.has(domain) && !allowed.has(address.toLowerCase()))
  if (!other) return null
  // A reply goes to an address that a stranger wrote, and a model reads this sentence: its local part may be another sentence.
  return refuse(
    'recipient_not_allowed',
    `The policy of this inbox does not allow mail to this address at ${other.domain}.`,
  )
}

/** What the content of a mail was looked at for. */
export interface InspectedFor {
  findings: boolean
  taint: boolean
}

export const inspectedFor = (policy: Policy): InspectedFor => ({
  findings: policy.dlp !== 'off',
  taint: policy.require_approval_on_taint,
})

export function asksMore(policy: Policy, was: InspectedFor): boolean {
  const asked = inspectedFor(policy)
  return (asked.findings && !was.findings) || (asked.taint && !was.taint)
}

export function reasonsToHold(
  policy: Policy,
  { isTainted, inspected }: { isTainted: boolean; inspected: Inspected },
): Reason[] {
  const reasons: Reason[] = []
  const { findings, uninspected, repeatsTainted } = inspected
  if (policy.require_approval_on_taint && isTainted) {
    reasons.push({ kind: 'taint', detail: 'It continues a thread with a message that is not to be trusted.' })
  } else if (policy.require_approval_on_taint && repeatsTainted) {
    reasons.push({ kind: 'taint', detail: REPEATING })
  }
  if (policy.dlp === 'enforce' && findings.length > 0) {
    reasons.push({ kind: 'dlp', detail: namesOf(findings), findings })
  } else if (policy.dlp === 'enforce' && uninspected !== null) {
    reasons.push({ kind: 'dlp', detail: uninspected, findings: [] })
  }
  return reasons
}

const REPEATING = 'It repeats a passage of a message that is not to be trusted, or could not be compared in full.'

const namesOf = (findings: readonly Finding[]): string =>
  [...new Set(findings.map(({ label, where }) => `${label} in ${where}`))].slice(0, 10).join('; ')

/** What `observe` leaves behind on the message: the findings, in the form of the shield's reasons. */
export function observed(policy: Policy, { findings }: Inspected): Shield | null {
  if (policy.dlp === 'off' || findings.length === 0) return null
  const reasons = findings.map(({ detector, label, excerpt, where }) => ({
    kind: `dlp:${detector}`,
    detail: `${label} ${excerpt}`,
    where,
  }))
  return { verdict: 'suspicious', reasons, blocked: false }
}
