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

export const composeRoutes = (world: World, composing: Composing): Route[] => {
  const send = (order: Order): Promise<Composed> =>
    order.body.send_at === undefined ? compose(world, composing, order) : composing.schedule(order)
  const answer = (
    kind: 'reply' | 'forward',
    {
      by,
      caller,
      id,
      body,
      key,
    }: Pick<ComposeOrder, 'by' | 'body'> & { caller: KeyPrincipal; id: string; key: string | undefined },
  ): Promise<Composed> => {
    const request = { kind, originalId: id, body, ...keyed(key) }
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
    route(replyEndpoint, async ({ by, caller, params, headers, body }) =>
      reply(202, await answer('reply', { by, caller, id: params.id, body, key: headers['idempotency-key'] })),
    ),
    route(forwardEndpoint, async ({ by, caller, params, headers, body }) =>
      reply(202, await answer('forward', { by, caller, id: params.id, body, key: headers['idempotency-key'] })),
    ),
  ]
}

function keyed(header: string | undefined): { idempotencyKey?: string } {
  const idempotencyKey = keyInHeader(header)
  return idempotencyKey === undefined ? {} : { idempotencyKey }
}
