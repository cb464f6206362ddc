// Mail to postmaster@ and abuse@, for the operator.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { reply, route } from '../../platform/http/contract.ts'
import { notFound } from '../../platform/refusal.ts'
import { readMessagePage } from '../messages/list.ts'
import { readMessage } from '../messages/read.ts'
import type { Postmaster } from './take.ts'
import { getPostmasterEndpoint, listPostmasterEndpoint } from './contract.ts'

export const feature = (world: World, { postmaster }: { postmaster: Postmaster }): Feature => ({
  routes: [
    route(listPostmasterEndpoint, async ({ query }) => {
      const inbox = await postmaster.findInbox()
      if (!inbox) return reply(200, { messages: [], next_cursor: null })
      const reach = { accountId: inbox.accountId, tenantId: null, inboxId: inbox.id }
      const asked = { inboxId: inbox.id, query: { ...query, folder: 'all' } }
      const { messages, next_cursor } = await readMessagePage(world, reach, asked)
      return reply(200, { messages, next_cursor })
    }),
    route(getPostmasterEndpoint, async ({ params }) => {
      const inbox = await postmaster.findInbox()
      if (!inbox) throw notFound('message')
      const reach = { accountId: inbox.accountId, tenantId: null, inboxId: inbox.id }
      return reply(200, await readMessage(world.db, reach, params.id))
    }),
  ],
})
