// A domain as the API shows it: with its records, the state of each, and in words what is still to be done.
import type { Domain } from './contract.ts'
import { DECISIVE } from './outcome.ts'
import { recordsOf, type Hosts } from './records.ts'
import type { StoredDomain } from './stored-domain.ts'

export const presentDomain = (hosts: Hosts, domain: StoredDomain): Domain => ({
  id: domain.id,
  tenant_id: domain.tenant_id,
  name: domain.name,
  verified: domain.verified_at !== null,
  mx_verified: domain.mx_verified_at !== null,
  inbound_enabled: domain.inbound_enabled,
  dkim_selector: domain.dkim_selector,
  problem: problemOf(domain),
  records: recordsOf(hosts, domain).map(record => {
    const finding = domain.findings.records?.[record.purpose]
    return {
      ...record,
      state: finding?.state ?? 'missing',
      found: finding?.found ?? [],
      problem: finding ? finding.problem : 'It was not looked up yet.',
    }
  }),
  checked_at: domain.checked_at?.toISOString() ?? null,
  verified_at: domain.verified_at?.toISOString() ?? null,
  failing_since: domain.failing_since?.toISOString() ?? null,
  created_at: domain.created_at.toISOString(),
})

/** Without the records, which repeat what the name and the selector say: for the audit log. */
export function summariseDomain(hosts: Hosts, domain: StoredDomain): Omit<Domain, 'records' | 'problem'> {
  const { records: _, problem: __, ...summary } = presentDomain(hosts, domain)
  return summary
}

function problemOf({ findings, verified_at, failing_since }: StoredDomain): string | null {
  const { records, isTaken } = findings
  if (verified_at && !failing_since) return null
  if (!records) return 'It was not looked up yet. Publish the records, then verify.'
  if (isTaken) {
    return 'The records are in place, but this name is verified elsewhere. It can be verified here once it is given up there.'
  }
  const lacking = DECISIVE.filter(purpose => records[purpose].state !== 'ok' || !records[purpose].isAnswered)
  const list = lacking.map(purpose => `${purpose.toUpperCase()} (${stateOf(records[purpose])})`).join(' and ')
  return verified_at
    ? `Not in place: ${list}. After three daily checks in a row the domain is no longer verified.`
    : `Not in place: ${list}. Publish what is shown, then verify again.`
}

const stateOf = ({ state, isAnswered }: { state: string; isAnswered: boolean }): string =>
  isAnswered ? state : 'not looked up'
