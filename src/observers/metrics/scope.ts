// What is to be counted: the scope that the caller named, as the roll-ups name it, if it is within reach.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { normaliseDomain, parseAddressOnly } from '../../mail/address/address.ts'
import type { Db } from '../../platform/db/database.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { MetricsQuery } from './contract.ts'
import { NO_TENANT } from './counters.ts'
import { findKeyOrCredential } from './queries.ts'

export interface MetricScope {
  type: 'account' | 'tenant' | 'domain' | 'sender' | 'credential' | 'api_key'
  value: string
  /** Null: of every tenant. */
  tenantId: string | null
}

/**
 * Things with an id are found or are not (404). A domain or an address is only a name: one that was never seen, and one
 * that only others use, both answer zeros.
 */
export async function requireScope(db: Db, reach: Reach, query: MetricsQuery): Promise<MetricScope> {
  const { scope_type: type, scope_value: value } = query
  if (type === undefined && value === undefined) return widestScope(reach)
  if (type === undefined || value === undefined) {
    throw refuse('invalid_request', 'scope_type and scope_value go together.')
  }
  switch (type) {
    case 'domain':
      return { type, value: named(normaliseDomain(value), 'a domain name'), tenantId: reach.tenantId }
    case 'sender':
      return {
        type,
        value: named(parseAddressOnly(value)?.address.toLowerCase(), 'an address'),
        tenantId: reach.tenantId,
      }
    case 'tenant': {
      const { id } = await requireTenantInReach(db, reach, requireId(value, 'tenant'))
      return { type, value: id, tenantId: id }
    }
    case 'credential':
    case 'api_key': {
      const noun = type === 'api_key' ? 'key' : type
      const found = await findKeyOrCredential(db, reach, type, requireId(value, noun))
      if (!found) throw notFound(noun)
      return { type, value: found.id, tenantId: found.tenant_id }
    }
  }
}

const widestScope = ({ accountId, tenantId }: Reach): MetricScope =>
  tenantId === null
    ? { type: 'account', value: accountId, tenantId: NO_TENANT }
    : { type: 'tenant', value: tenantId, tenantId }

function requireId(value: string, noun: string): string {
  if (!isUuid(value)) throw refuse('invalid_request', `scope_value must be the id of a ${noun}.`)
  return value.toLowerCase()
}

function named(value: string | null | undefined, what: string): string {
  if (!value) throw refuse('invalid_request', `scope_value must be ${what}.`)
  return value
}
