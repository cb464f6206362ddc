// What a report from outside changes: a late bounce (RFC 3464), a complaint (RFC 5965), or nothing. Everything in it
// was written by strangers; only the token in an address says which delivery it may touch.
import type { Reading, ReadReport } from '../../mail/reports/read-report.ts'
import { verdictOn } from '../../mail/reports/verdict.ts'
import type { World } from '../../platform/world.ts'
import { recordFindings, type Change, type Finding } from '../../sending/delivery/reports.ts'
import { readReturnPath, type ReadReturnPath } from '../../sending/delivery/return-path.ts'
import type { ReportRecipient } from './recognise.ts'

/** A mail may have many recipients of ours, and a report may name many: so many deliveries does one mail touch at most. */
const FINDINGS_MAX = 100

interface Taken {
  /** How many deliveries it is about, as far as it is understood. None: it says nothing final, or nothing at all. */
  findings: number
  changes: Change[]
}

/** In one transaction, for all the recipients that the mail came to. */
export async function takeReport(world: World, mail: ReadReport, to: readonly ReportRecipient[]): Promise<Taken> {
  const findings = findingsIn(world, mail, to)
  return { findings: findings.length, changes: await recordFindings(world, findings) }
}

function findingsIn(world: World, { toReturnPath, toOthers }: ReadReport, to: readonly ReportRecipient[]): Finding[] {
  const found = new Map<string, Finding>()
  for (const recipient of to) {
    const about = recipient.kind === 'role' ? aboutInside(world, recipient.name, toOthers) : recipient
    if (!about) continue
    for (const finding of findingsOn(about, recipient.kind === 'bounce' ? toReturnPath : toOthers)) {
      const key = JSON.stringify([finding.kind, finding.about])
      if (!found.has(key)) found.set(key, finding)
      if (found.size >= FINDINGS_MAX) return [...found.values()]
    }
  }
  return [...found.values()]
}

/** One where the return path was the recipient's own; else one for each address that the report names. */
function findingsOn({ messageId, n, envelope }: ReadReturnPath, reading: Reading): Finding[] {
  if (reading.kind === 'nothing') return []
  if (reading.kind === 'bounce') {
    const verdicts = reading.verdicts.slice(0, FINDINGS_MAX)
    // Delayed is no verdict, and delivered is what we believed.
    if (verdicts.every(verdict => verdict.class === 'transient')) return []
    if (n !== null) {
      return [{ kind: 'bounce', about: { messageId, n }, verdictOn: recipient => verdictOn(verdicts, recipient) }]
    }
    return verdicts.flatMap(verdict =>
      verdict.names.map(recipient => ({
        kind: 'bounce' as const,
        about: { messageId, recipient, envelope },
        verdictOn: () => verdict,
      })),
    )
  }
  const { kind, report } = reading
  const detail = report.feedbackType
  if (n !== null) return [{ kind, about: { messageId, n }, detail }]
  return report.originalRecipients.map(address => ({
    kind,
    about: { messageId, recipient: address.toLowerCase(), envelope },
    detail,
  }))
}

/** Receivers take the recipient out of what they send to abuse@; our own token in the message still tells. */
function aboutInside({ secrets, clock }: World, role: string, reading: Reading): ReadReturnPath | null {
  if (role !== 'abuse' || !('report' in reading)) return null
  for (const token of reading.report.tokens) {
    const found = readReturnPath(secrets, token, clock.now())
    if (found) return found
  }
  return null
}
