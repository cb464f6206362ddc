// Which recipients a pause stops, and which pauses can meet. Pure. `PauseIndex` answers the first question for many pauses
// at once, and a property test holds the two equal.

export interface PauseScope {
  id: string
  scope_type: string
  scope_value: string
  queue_action: 'hold' | 'reject'
}

export interface PlacedScope extends PauseScope {
  /** Of a credential or key: the tenant that it belongs to, if it belongs to one. */
  tenant_id: string | null
}

/** What a pause can be about, of one recipient of one message. */
export interface PauseFacts {
  tenantId: string
  senderDomain: string
  sender: string
  credentialId: string | null
  apiKeyId: string | null
  tags: readonly string[]
  recipientDomain: string
}

/** Broadest first: the order in which a hold names its scope. */
export const BREADTH: readonly string[] = ['account', 'tenant', 'domain', 'sender', 'credential', 'api_key', 'rule']

export const scopeName = (pause: PauseScope): string => `${pause.scope_type}:${pause.scope_value}`

export function applies({ scope_type, scope_value }: PauseScope, facts: PauseFacts): boolean {
  switch (scope_type) {
    case 'account':
      return true
    case 'tenant':
      return scope_value === facts.tenantId
    case 'domain':
      return scope_value === facts.senderDomain
    case 'sender':
      // The guardian names a sender as it wrote itself, a person as they please.
      return scope_value.toLowerCase() === facts.sender.toLowerCase()
    case 'credential':
      return scope_value === facts.credentialId
    case 'api_key':
      return scope_value === facts.apiKeyId
    case 'rule':
      return scope_value.startsWith('tag:')
        ? facts.tags.includes(scope_value.slice('tag:'.length))
        : scope_value === `recipient_domain:${facts.recipientDomain}`
    default:
      return false
  }
}

/** False when no recipient can be stopped by both. */
export function mayOverlap(one: PlacedScope, other: PlacedScope): boolean {
  const tenants = [tenantOf(one), tenantOf(other)]
  if (!tenants.includes(null) && tenants[0] !== tenants[1]) return false
  if (one.scope_type !== other.scope_type) return true
  const values = [one.scope_value.toLowerCase(), other.scope_value.toLowerCase()]
  // A message has many tags, and one of everything else.
  return values[0] === values[1] || values.some(value => value.startsWith('tag:'))
}

/** Whether everything that the narrow one stops is stopped by the broad one too. */
export const covers = (broad: PlacedScope, narrow: PlacedScope): boolean =>
  broad.scope_type === 'account' ||
  (broad.scope_type === narrow.scope_type && broad.scope_value === narrow.scope_value) ||
  (broad.scope_type === 'tenant' && broad.scope_value === tenantOf(narrow))

/** The one tenant whose mail it can stop. Of a domain or sender there is none: several tenants may send from it. */
function tenantOf({ scope_type, scope_value, tenant_id }: PlacedScope): string | null {
  if (scope_type === 'tenant') return scope_value
  return scope_type === 'credential' || scope_type === 'api_key' ? tenant_id : null
}
