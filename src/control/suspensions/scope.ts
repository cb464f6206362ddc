// Which scope a pause request means: normalised, and known in the account.
import { normaliseDomain, parseAddressOnly } from '../../mail/address/address.ts'
import type { Db } from '../../platform/db/database.ts'
import { isUuid } from '../../platform/ids.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { ScopeType } from './contract.ts'
import { lowerCase } from './scopes.ts'
import { findOwnerOfDomain, findOwnerOfId } from './scope-queries.ts'

interface Scope {
  scopeType: ScopeType
  scopeValue: string
  /** The tenant that it lies in, when it lies in one. */
  tenantId: string | null
}

/** 404 when the account has no such scope, 400 when it cannot be one. */
export async function requireScope(
  db: Db,
  accountId: string,
  { scope_type: scopeType, scope_value: value }: { scope_type: ScopeType; scope_value?: string },
): Promise<Scope> {
  if (scopeType === 'account') {
    if (value !== undefined && value.toLowerCase() !== accountId) throw notFound('scope')
    return { scopeType, scopeValue: accountId, tenantId: null }
  }
  if (value === undefined) throw refuse('invalid_request', 'scope_value is required for this scope_type.')
  switch (scopeType) {
    case 'tenant':
    case 'credential':
    case 'api_key':
      return requireOwned(db, accountId, scopeType, value.toLowerCase())
    case 'domain':
      return requireDomain(db, accountId, { scopeType, scopeValue: value, domain: value })
    case 'sender': {
      const address = parseAddressOnly(value)
      if (!address) throw refuse('invalid_request', 'scope_value is not an email address.')
      return requireDomain(db, accountId, {
        scopeType,
        scopeValue: lowerCase(address.address),
        domain: address.domain,
      })
    }
    case 'rule':
      return { scopeType, scopeValue: ruleValue(value), tenantId: null }
  }
}

async function requireOwned(db: Db, accountId: string, scopeType: 'tenant' | 'credential' | 'api_key', id: string) {
  const owner = isUuid(id) ? await findOwnerOfId(db, accountId, scopeType, id) : null
  if (!owner) throw notFound('scope')
  return { scopeType, scopeValue: id.toLowerCase(), tenantId: owner.tenant_id }
}

/** A sender is known when its domain is registered. */
async function requireDomain(
  db: Db,
  accountId: string,
  { scopeType, scopeValue, domain }: { scopeType: ScopeType; scopeValue: string; domain: string },
): Promise<Scope> {
  const name = normaliseDomain(domain)
  const owner = name === null ? null : await findOwnerOfDomain(db, accountId, name)
  if (!owner) throw notFound('scope')
  return { scopeType, scopeValue: scopeType === 'domain' ? name! : scopeValue, tenantId: owner.tenant_id }
}

function ruleValue(value: string): string {
  const [, kind, rest] = /^(tag|recipient_domain):(.+)$/su.exec(value) ?? []
  if (kind === 'tag' && Array.from(rest!).length <= TAG_CHARS_MAX) return value
  const domain = kind === 'recipient_domain' ? normaliseDomain(rest!) : null
  if (domain === null) {
    throw refuse('invalid_request', 'scope_value of a rule is `tag:<tag>` or `recipient_domain:<domain>`.')
  }
  return `recipient_domain:${domain}`
}

/** As long as a message's tags may be. */
const TAG_CHARS_MAX = 128
