// Creating a key: which scopes a level may hold, and where it reaches.
import type { Actor } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Level, Reach, Scope } from '../../platform/principal.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import type { ApiKeyCreate } from './contract.ts'
import { issueKey } from './issue.ts'
import { requireInboxTenant } from './queries.ts'

/** `suspend` and `admin` need an account-wide key; feedback concerns more than one inbox. */
const SCOPES_OF_LEVEL: Record<Level, readonly Scope[]> = {
  account: ['send', 'read', 'feedback', 'suspend', 'admin'],
  tenant: ['send', 'read', 'feedback'],
  inbox: ['send', 'read'],
}

const DAY_MS = 86_400_000

export function createKey(world: World, by: Actor, reach: Reach, wanted: ApiKeyCreate) {
  const level: Level = wanted.inbox_id ? 'inbox' : wanted.tenant_id ? 'tenant' : 'account'
  const excess = wanted.scopes.find(scope => !SCOPES_OF_LEVEL[level].includes(scope))
  if (excess) {
    const allowed = SCOPES_OF_LEVEL[level].join(', ')
    throw refuse('invalid_request', `scopes must not contain ${excess}: a key at ${level} level may hold ${allowed}.`)
  }
  return world.db.transact(by, async tx => {
    const tenantId = await tenantOf(tx, reach, wanted)
    const days = wanted.expires_in_days ?? 0
    const key = await issueKey(tx, {
      accountId: reach.accountId,
      tenantId,
      inboxId: wanted.inbox_id ?? null,
      name: wanted.name,
      scopes: wanted.scopes,
      allowedCidrs: wanted.allowed_cidrs ?? [],
      expiresAt: days > 0 ? new Date(tx.now.getTime() + days * DAY_MS) : null,
    })
    const { secret: _, ...shown } = key
    tx.audit({ accountId: reach.accountId, tenantId, target: { type: 'api_key', id: key.id }, after: shown })
    return key
  })
}

/** An inbox key inherits the inbox's tenant; naming another tenant beside it finds no such inbox there. */
async function tenantOf(tx: Tx, reach: Reach, { tenant_id, inbox_id }: ApiKeyCreate): Promise<string | null> {
  if (tenant_id) await requireTenantInReach(tx, reach, tenant_id)
  if (!inbox_id) return tenant_id ?? null
  const owner = await requireInboxTenant(tx, reach, inbox_id)
  if (tenant_id && owner !== tenant_id.toLowerCase()) throw notFound('inbox')
  return owner
}
