// Which pauses can meet, judged by their scopes alone.
import { breadthOf, lowerCase, type PauseScope } from './scopes.ts'

/** False when no recipient can be stopped by both. */
export function mayOverlap(one: PauseScope, other: PauseScope): boolean {
  const tenants = [tenantOf(one), tenantOf(other)]
  if (!tenants.includes(null) && tenants[0] !== tenants[1]) return false
  if (one.scope_type !== other.scope_type) return true
  const values = [lowerCase(one.scope_value), lowerCase(other.scope_value)]
  // A message has many tags, and one of everything else.
  return values[0] === values[1] || values.some(value => value.startsWith('tag:'))
}

/** Whether everything that the narrow one stops is stopped by the broad one too. */
export const covers = (broad: PauseScope, narrow: PauseScope): boolean =>
  broad.scope_type === 'account' ||
  (broad.scope_type === narrow.scope_type &&
    broad.scope_value === narrow.scope_value &&
    (!broad.only_tenant || broad.tenant_id === tenantOf(narrow))) ||
  (broad.scope_type === 'tenant' && broad.scope_value === tenantOf(narrow))

/** The pause that is the broadest match of all that the narrow one stops; null where that is not the same for all of it. */
export function coverOf<P extends PauseScope>(pauses: readonly P[], narrow: PauseScope): P | null {
  const [broadest] = pauses.toSorted((a, b) => breadthOf(a) - breadthOf(b))
  return broadest && covers(broadest, narrow) ? broadest : null
}

/** The one tenant whose mail it can stop. Several tenants may send from a domain or sender, unless the pause says whose. */
export function tenantOf({ scope_type, scope_value, tenant_id, only_tenant }: PauseScope): string | null {
  if (scope_type === 'tenant') return scope_value
  return only_tenant || scope_type === 'credential' || scope_type === 'api_key' ? tenant_id : null
}
