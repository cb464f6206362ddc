// Handlers of sending from an inbox.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { requireMessageInReach } from '../messages/find.ts'
import { compose, type ComposeOrder } from './compose.ts'
import type { Composing } from './composing.ts'
import type { Composed } from './compose-schema.ts'
import { composeEndpoint, forwardEndpoint, replyEndpoint } from './contract.ts'

export const composeRoutes = (world: World, composing: Composing): Route[] => {
  const send = (caller: KeyPrincipal, order: Omit<ComposeOrder, 'caller'>): Promise<Composed> =>
    order.body.send_at === undefined
      ? compose(world, composing, { ...order, caller })
      : composing.schedule({ ...order, caller })
  const answer = async (
    kind: 'reply' | 'forward',
    {
      caller,
      id,
      ...rest
    }: Pick<ComposeOrder, 'by' | 'body'> & { caller: KeyPrincipal; id: string; key: string | undefined },
  ): Promise<Composed> => {
    const { inbox_id: inboxId } = await requireMessageInReach(world.db, caller.reach, id)
    return send(caller, { by: rest.by, body: rest.body, inboxId, kind, originalId: id, ...keyed(rest.key) })
  }
  return [
    route(composeEndpoint, async ({ by, caller, params, headers, body }) => {
      const order = { by, body, inboxId: params.id, kind: 'new' as const, ...keyed(headers['idempotency-key']) }
      return reply(202, await send(caller, order))
    }),
    route(replyEndpoint, async ({ by, caller, params, headers, body }) =>
      reply(202, await answer('reply', { by, caller, id: params.id, body, key: headers['idempotency-key'] })),
    ),
    route(forwardEndpoint, async ({ by, caller, params, headers, body }) =>
      reply(202, await answer('forward', { by, caller, id: params.id, body, key: headers['idempotency-key'] })),
    ),
  ]
}

const keyed = (idempotencyKey: string | undefined): { idempotencyKey?: string } =>
  idempotencyKey === undefined ? {} : { idempotencyKey }
