// What everybody is told when a domain loses its verification.
import type { Tx } from '../../platform/db/database.ts'
import { raise } from '../../platform/journal/anomaly.ts'
import type { Finding, Purpose, StoredDomain } from './stored-domain.ts'

/** `reason` follows the name of the domain in the title of the alert. */
export function recordUnverified(
  tx: Tx,
  { id, account_id: accountId, tenant_id: tenantId, name }: StoredDomain,
  { records, reason }: { records: Record<Purpose, Finding>; reason: string },
): void {
  raise(tx, {
    kind: 'domain_unverified',
    severity: 'critical',
    title: `The domain ${name} ${reason} and can no longer send.`,
    accountId,
    tenantId,
    scope: `domain:${name}`,
    facts: { domain: name, domain_id: id, spf: records.spf.state, dkim: records.dkim.state },
  })
  tx.audit({
    action: 'domain.unverify',
    accountId,
    tenantId,
    target: { type: 'domain', id },
    before: { verified: true },
    after: { verified: false },
  })
}
