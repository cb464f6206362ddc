// What a report says of one recipient. It stands apart from the reading of reports, which is loaded in threads only.
import type { BounceClass } from './bounce-classes.ts'
import type { SmtpReply } from './smtp-reply.ts'

/** What became of one recipient, as somebody else says. */
export interface Verdict {
  /** As the report names the recipient: the address we wrote to, and where forwarding led. Either may be missing. */
  names: string[]
  /** `transient`: it says nothing final. */
  class: BounceClass
  rule: string
  reply: SmtpReply
}

/** The verdict on our recipient: the only one, or, where an alias led to several, the one that names the address. */
export function verdictOn(verdicts: readonly Verdict[], recipient: string | null): Verdict | null {
  if (verdicts.length <= 1) return verdicts[0] ?? null
  const wanted = recipient?.toLowerCase()
  return verdicts.find(({ names }) => wanted !== undefined && names.includes(wanted)) ?? null
}
