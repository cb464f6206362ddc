// What a look at DNS means for a domain. Two rules hold everywhere: nothing is verified on an old finding, and nothing
// is taken away because DNS did not answer.
import type { Finding, Findings, Purpose, StoredDomain } from './stored-domain.ts'

/** The part of a domain that a check may change. */
export type Checked = Pick<StoredDomain, 'findings' | 'verified_at' | 'mx_verified_at' | 'failing_since'>

interface Check {
  records: Record<Purpose, Finding>
  now: Date
}

/** A verified domain loses that after so many daily checks in a row: a record may be missing for a while. */
const FAILURES_MAX = 3

/** Somebody asked for it: the answer is the truth of this moment. */
export function outcomeOfVerify(domain: StoredDomain, { records, now }: Check, isTaken: boolean): Checked {
  const passes = isPublished(records)
  const findings: Findings = { records, isTaken: passes && isTaken }
  const mx_verified_at = mxVerifiedAt(domain, { records, now })
  if (passes) {
    const verified_at = isTaken ? null : (domain.verified_at ?? now)
    return { findings, verified_at, mx_verified_at, failing_since: null }
  }
  if (isBroken(records)) return { findings, verified_at: null, mx_verified_at, failing_since: null }
  const { verified_at, failing_since } = domain
  return { findings: { ...findings, failures: failuresOf(domain) }, verified_at, mx_verified_at, failing_since }
}

/** The daily check of a verified domain: a mistake in its DNS may be mended before it costs the verification. */
export function outcomeOfRecheck(domain: StoredDomain, { records, now }: Check): Checked {
  const mx_verified_at = mxVerifiedAt(domain, { records, now })
  const { verified_at } = domain
  if (isPublished(records)) return { findings: { records }, verified_at, mx_verified_at, failing_since: null }
  const failures = failuresOf(domain) + (isBroken(records) ? 1 : 0)
  if (failures >= FAILURES_MAX) return { findings: { records }, verified_at: null, mx_verified_at, failing_since: null }
  const failing_since = failures > 0 ? (domain.failing_since ?? now) : null
  return { findings: { records, failures }, verified_at, mx_verified_at, failing_since }
}

/** What makes a domain verified. */
export const DECISIVE = ['spf', 'dkim'] as const satisfies readonly Purpose[]

const isPublished = (records: Record<Purpose, Finding>): boolean =>
  DECISIVE.every(purpose => records[purpose].isAnswered && records[purpose].state === 'ok')

const isBroken = (records: Record<Purpose, Finding>): boolean =>
  DECISIVE.some(purpose => records[purpose].isAnswered && records[purpose].state !== 'ok')

const failuresOf = (domain: StoredDomain): number => domain.findings.failures ?? 0

/** It only decides whether inbound may be enabled, so it follows each answer at once. */
function mxVerifiedAt({ mx_verified_at }: StoredDomain, { records, now }: Check): Date | null {
  if (!records.mx.isAnswered) return mx_verified_at
  return records.mx.state === 'ok' ? (mx_verified_at ?? now) : null
}
