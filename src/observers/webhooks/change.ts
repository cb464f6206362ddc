// Disabling, enabling and deleting a webhook, and renewing its secret.
import type { Actor } from '../../platform/db/actor.ts'
import type { Named } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import type { Webhook } from './contract.ts'
import { FAN_OUT } from './fan-out.ts'
import { deleteWebhookRow, disableWebhook, enableWebhook, requireWebhookForUpdate, updateSecret } from './queries.ts'
import { mintSigningSecret, sealSigningSecret } from './signature.ts'

/** For so long after a rotation the old secret signs as well. */
const OLD_SECRET_MS = 24 * 3_600_000

/** What is in nobody's hands yet waits from now on; what a worker has leased, it gives back within a second or two. */
export async function setWebhookStatus(world: World, by: Actor, { reach, id }: Named, status: Webhook['status']) {
  await world.db.transact(by, async tx => {
    const before = await requireWebhookForUpdate(tx, reach, id)
    if (before.status === status) return
    await (status === 'active' ? enableWebhook(tx, { id, tail: FAN_OUT }) : disableWebhook(tx, id))
    tx.audit({
      accountId: reach.accountId,
      tenantId: before.tenant_id,
      target: { type: 'webhook', id },
      before: { status: before.status },
      after: { status },
    })
  })
  world.wakeups.hint('attempts')
}

export async function deleteWebhook(world: World, by: Actor, { reach, id }: Named): Promise<void> {
  await world.db.transact(by, async tx => {
    const before = await requireWebhookForUpdate(tx, reach, id)
    await deleteWebhookRow(tx, id)
    tx.audit({ accountId: reach.accountId, tenantId: before.tenant_id, target: { type: 'webhook', id }, before })
  })
  world.wakeups.hint('attempts')
}

export function rotateSecret(world: World, by: Actor, { reach, id }: Named) {
  return world.db.transact(by, async tx => {
    const before = await requireWebhookForUpdate(tx, reach, id)
    const secret = mintSigningSecret()
    const webhook = await updateSecret(tx, id, {
      sealedSecret: sealSigningSecret(world.secrets, id, secret),
      oldUntil: new Date(tx.now.getTime() + OLD_SECRET_MS),
    })
    tx.audit({
      accountId: reach.accountId,
      tenantId: webhook.tenant_id,
      target: { type: 'webhook', id },
      before: { rotated_at: before.rotated_at },
      after: { rotated_at: webhook.rotated_at },
    })
    return { ...webhook, secret }
  })
}
