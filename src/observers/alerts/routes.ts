// Handlers of /v1/alerts and /v1/alert-contacts.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { nextIdCursor, pageOf, readIdCursor } from '../../platform/http/paging.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { Dns } from '../../platform/net/dns.ts'
import type { World } from '../../platform/world.ts'
import { ackAlert } from './ack.ts'
import { createContact, deleteContact } from './contacts.ts'
import {
  ackAlertEndpoint,
  createContactEndpoint,
  deleteContactEndpoint,
  listAlertsEndpoint,
  listContactsEndpoint,
} from './contract.ts'
import { listAlerts, listContacts } from './queries.ts'

export const alertRoutes = (world: World, dns: Dns): Route[] => [
  route(listAlertsEndpoint, async ({ caller, query }) => {
    const limit = query.limit ?? LIMIT_DEFAULT
    const after = readIdCursor(world.secrets, 'alerts', query.cursor)
    const isUnacked = query.unacked === '1'
    const page = pageOf(await listAlerts(world.db.lists, caller.reach, { isUnacked, after, limit: limit + 1 }), limit)
    return reply(200, { alerts: page.rows, next_cursor: nextIdCursor(world.secrets, 'alerts', page) })
  }),
  route(ackAlertEndpoint, async ({ by, caller, params }) => {
    await ackAlert(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
  route(listContactsEndpoint, async ({ caller, query }) => {
    const limit = query.limit ?? LIMIT_DEFAULT
    const after = readIdCursor(world.secrets, 'alert-contacts', query.cursor)
    const page = pageOf(
      await listContacts(world.db.lists, caller.reach, { secrets: world.secrets, after, limit: limit + 1 }),
      limit,
    )
    return reply(200, { contacts: page.rows, next_cursor: nextIdCursor(world.secrets, 'alert-contacts', page) })
  }),
  route(createContactEndpoint, async ({ by, caller, body }) =>
    reply(201, await createContact(world, by, { reach: caller.reach, wanted: body, dns })),
  ),
  route(deleteContactEndpoint, async ({ by, caller, params }) => {
    await deleteContact(world, by, caller.reach, params.id)
    return reply(204, null)
  }),
]
