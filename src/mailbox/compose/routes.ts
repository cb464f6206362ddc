// Handlers of sending from an inbox.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { keyInHeader } from '../../sending/messages/idempotency.ts'
import { requireMessageInReach } from '../messages/find.ts'
import { compose, type ComposeOrder } from './compose.ts'
import type { Composing } from './composing.ts'
import type { Composed } from './compose-schema.ts'
import { orFirstResult } from './first-result.ts'
import { composeEndpoint, forwardEndpoint, replyEndpoint } from './contract.ts'

type Order = ComposeOrder & { caller: KeyPrincipal }

interface Answering extends Pick<Order, 'by' | 'caller' | 'body'> {
  params: { id: string }
  headers: { 'idempotency-key'?: string }
}

export const composeRoutes = (world: World, composing: Composing): Route[] => {
  const send = (order: Order): Promise<Composed> =>
    order.body.send_at === undefined ? compose(world, composing, order) : composing.schedule(order)
  const answer = ({ by, caller, body, params: { id }, headers }: Answering, kind: 'reply' | 'forward') => {
    const request = { kind, originalId: id, body, ...keyed(headers['idempotency-key']) }
    return orFirstResult(world, { composing, reach: caller.reach, request }, async () => {
      const { inbox_id: inboxId } = await requireMessageInReach(world.db, caller.reach, id)
      return send({ by, caller, inboxId, ...request })
    })
  }
  return [
    route(composeEndpoint, async ({ by, caller, params, headers, body }) => {
      const order = { by, caller, body, inboxId: params.id, kind: 'new' as const, ...keyed(headers['idempotency-key']) }
      const repeatable = { composing, reach: caller.reach, request: order }
      return reply(202, await orFirstResult(world, repeatable, () => send(order)))
    }),
    route(replyEndpoint, async asked => reply(202, await answer(asked, 'reply'))),
    route(forwardEndpoint, async asked => reply(202, await answer(asked, 'forward'))),
  ]
}

function keyed(header: string | undefined): { idempotencyKey?: string } {
  const idempotencyKey = keyInHeader(header)
  return idempotencyKey === undefined ? {} : { idempotencyKey }
}
