// Every tenant within reach with how it stands, newest tenant first; those without mail stand well.
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { NOTHING } from '../metrics/counters.ts'
import { sumDomainsLastDay, sumLastDay } from '../metrics/last-day.ts'
import { standingOf, type Standing } from './health.ts'
import { listDomainNames, listTenantNames } from './queries.ts'

/** One answer holds all; an account with more tenants than this asks tenant by tenant. */
const TENANTS_MAX = 10_000
const DOMAINS_MAX = 50_000

export async function tenantStandings(world: World, reach: Reach) {
  const [tenants, counted] = await Promise.all([
    listTenantNames(world.db.lists, reach, TENANTS_MAX),
    sumLastDay(world, reach, 'tenant'),
  ])
  return tenants.map(({ id, name }) => ({ tenant_id: id, name, ...standingOf(counted.get(id) ?? NOTHING) }))
}

/** A row for each tenant, followed by rows for its domains by name. */
export async function readReputation(world: World, reach: Reach) {
  const [tenants, sent, registered] = await Promise.all([
    tenantStandings(world, reach),
    sumDomainsLastDay(world, reach),
    listDomainNames(world.db.lists, reach, DOMAINS_MAX),
  ])
  const domains = new Map<string, Map<string, Standing>>()
  const note = (tenantId: string, name: string, standing: Standing): void => {
    const ofTenant = domains.get(tenantId) ?? new Map<string, Standing>()
    domains.set(tenantId, ofTenant.set(name, standing))
  }
  for (const { tenant_id, name } of registered) note(tenant_id, name, standingOf(NOTHING))
  for (const sum of sent) note(sum.tenant_id, sum.scope_value, standingOf(sum))
  return tenants.flatMap(({ tenant_id, name: _, ...standing }) => [
    { tenant_id, domain: null, ...standing },
    ...[...(domains.get(tenant_id) ?? [])]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([domain, ofDomain]) => ({ tenant_id, domain, ...ofDomain })),
  ])
}
