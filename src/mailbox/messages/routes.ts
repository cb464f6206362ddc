// Handlers of /v1/inbox-messages, and of the messages of an inbox.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { mayAct, type KeyPrincipal } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { changeBatch } from './batch.ts'
import * as contract from './contract.ts'
import { deleteMessage, markRead, moveMessage, setLabels } from './file.ts'
import { readMessagePage } from './list.ts'
import type { Message } from './message-schema.ts'
import { withoutContent } from './present.ts'
import { readRaw } from './raw.ts'
import { readHtml, readMessage } from './read.ts'

export const inboxMessageRoutes = (world: World): Route[] => [...readRoutes(world), ...writeRoutes(world)]

const readRoutes = (world: World): Route[] => [
  route(contract.listInboxMessagesEndpoint, async ({ caller, params, query }) =>
    reply(200, await readMessagePage(world, caller.reach, { inboxId: params.id, query })),
  ),
  route(contract.getInboxMessageEndpoint, async ({ caller, params }) =>
    reply(200, await readMessage(world.db, caller.reach, params.id)),
  ),
  route(contract.getRawEndpoint, async ({ caller, params }) => {
    const { body, headers } = await readRaw(world.db, caller.reach, params.id)
    return reply(200, body, headers)
  }),
  route(contract.getHtmlEndpoint, async ({ caller, params }) =>
    reply(200, await readHtml(world.db, caller.reach, params.id)),
  ),
]

const writeRoutes = (world: World): Route[] => [
  route(contract.markReadEndpoint, async ({ by, caller, params, body }) => {
    const message = await markRead(world, by, { reach: caller.reach, id: params.id, isRead: body.read ?? true })
    return reply(200, shownTo(caller, message))
  }),
  route(contract.setLabelsEndpoint, async ({ by, caller, params, body }) => {
    const message = await setLabels(world, by, { reach: caller.reach, id: params.id, labels: body.labels })
    return reply(200, shownTo(caller, message))
  }),
  route(contract.moveMessageEndpoint, async ({ by, caller, params, body }) => {
    const message = await moveMessage(world, by, { reach: caller.reach, id: params.id, to: body.folder })
    return reply(200, shownTo(caller, message))
  }),
  route(contract.deleteMessageEndpoint, async ({ by, caller, params, query }) => {
    const isPermanent = query.permanent ?? false
    return reply(200, await deleteMessage(world, by, { reach: caller.reach, id: params.id, isPermanent }))
  }),
  route(contract.batchEndpoint, async ({ by, caller, params, body }) =>
    reply(200, await changeBatch(world, by, { reach: caller.reach, inboxId: params.id, wanted: body })),
  ),
]

/** Filing asks for `send` alone, and its answer is the message: who may not read learns nothing from it. */
const shownTo = (caller: KeyPrincipal, message: Message): Message =>
  mayAct(caller, 'read') ? message : withoutContent(message)
