// Creating a webhook.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { lockAccountForCap } from '../../identity/accounts/cap.ts'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { WebhookCreate } from './contract.ts'
import { countWebhooks, insertWebhook } from './queries.ts'
import { mintSigningSecret, sealSigningSecret } from './signature.ts'
import { requireTarget } from '../../platform/net/http-target.ts'

export async function createWebhook(
  world: World,
  by: Actor,
  { reach, wanted }: { reach: Reach; wanted: WebhookCreate },
) {
  const { accountId } = reach
  const url = await requireTarget(wanted.url, {
    field: 'url',
    dns: world.dns,
    allowed: world.config.WEBHOOK_ALLOW_CIDRS,
  })
  return world.db.transact(by, async tx => {
    const tenantId = wanted.tenant_id ?? null
    if (tenantId !== null) await requireTenantInReach(tx, reach, tenantId)
    // Each event of an account makes a row per webhook; this bounds what one event can cost.
    const { webhooks_max: max } = await lockAccountForCap(tx, accountId)
    if ((await countWebhooks(tx, accountId)) >= max) {
      throw refuse('conflict', `This account may have ${max} webhooks. Delete one first, or ask the operator for more.`)
    }
    const id = newId(tx.now)
    const secret = mintSigningSecret()
    const webhook = await insertWebhook(tx, {
      id,
      accountId,
      tenantId,
      url,
      eventTypes: [...new Set(wanted.event_types)],
      sealedSecret: sealSigningSecret(world.secrets, id, secret),
    })
    tx.audit({ accountId, tenantId, target: { type: 'webhook', id }, after: webhook })
    return { ...webhook, secret }
  })
}
