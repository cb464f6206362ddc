// Handlers of /v1/alerts and /v1/alert-contacts.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import { ackAlert } from './ack.ts'
import { createContact, deleteContact } from './contacts.ts'
import * as contract from './contract.ts'
import { listAlerts, listContacts } from './queries.ts'

export const alertRoutes = (world: World): Route[] => [
  route(contract.listAlertsEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'alerts', query, keyset =>
      listAlerts(world.db.lists, caller.reach, { isUnacked: query.unacked === '1', ...keyset }),
    )
    return reply(200, { alerts: rows, next_cursor })
  }),
  route(contract.ackAlertEndpoint, async ({ by, caller, params }) => {
    await ackAlert(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
  route(contract.listContactsEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'alert-contacts', query, keyset =>
      listContacts(world.db.lists, caller.reach, { secrets: world.secrets, ...keyset }),
    )
    return reply(200, { contacts: rows, next_cursor })
  }),
  route(contract.createContactEndpoint, async ({ by, caller, body }) =>
    reply(201, await createContact(world, by, { reach: caller.reach, wanted: body })),
  ),
  route(contract.deleteContactEndpoint, async ({ by, caller, params }) => {
    await deleteContact(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
]
