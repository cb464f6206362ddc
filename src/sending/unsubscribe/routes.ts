// Handlers of the unsubscribe link. GET never changes anything: link checkers open links.
import { suppress } from '../../control/feedback/suppress.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { missing } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { readDeliveryToken, readUnsubscribeToken } from '../messages/unsubscribe-link.ts'
import { unsubscribeEndpoint, unsubscribePageEndpoint } from './contract.ts'
import { donePage, questionPage } from './page.ts'
import { findAccountOfTenantAnywhere, findLinkedDeliveryAnywhere, type Linked } from './queries.ts'

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

export const unsubscribeRoutes = (world: World): Route[] => [
  route(unsubscribePageEndpoint, async ({ params }) => {
    const { recipient } = await requireLinked(world, params.token)
    return reply(200, questionPage(recipient), HEADERS)
  }),
  route(unsubscribeEndpoint, async ({ params, by, ip }) => {
    const { accountId, tenantId, messageId, recipient } = await requireLinked(world, params.token)
    await world.db.transact({ ...by, name: recipient, ip }, async tx => {
      const said = { accountId, tenantId, address: recipient, reason: 'unsubscribe' as const, detail: null, messageId }
      if ((await suppress(tx, [said])) === 0) return
      tx.record({ type: 'unsubscribed', accountId, tenantId, messageId, recipient })
      tx.audit({ accountId, tenantId, target: { type: 'message', id: messageId }, after: { recipient } })
    })
    return reply(200, donePage(recipient), HEADERS)
  }),
]

async function requireLinked({ secrets, db }: World, token: string): Promise<Linked> {
  const delivery = readDeliveryToken(secrets, token)
  if (delivery) return (await findLinkedDeliveryAnywhere(db, delivery.messageId, delivery.n)) ?? missing('link')
  const subscription = readUnsubscribeToken(secrets, token) ?? missing('link')
  const accountId = (await findAccountOfTenantAnywhere(db, subscription.tenantId)) ?? missing('link')
  return { accountId, ...subscription }
}
