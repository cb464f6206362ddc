// Handlers of /v1/alerts and /v1/alert-contacts.
import { done, reply, route, type Route } from '../../platform/http/contract.ts'
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
  route(contract.ackAlertEndpoint, ({ by, caller, params }) => done(ackAlert(world, by, caller.reach, params.id))),
  route(contract.listContactsEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'alert-contacts', query, keyset =>
      listContacts(world.db.lists, caller.reach, { secrets: world.secrets, ...keyset }),
    )
    return reply(200, { contacts: rows, next_cursor })
  }),
  route(contract.createContactEndpoint, async ({ by, caller, body }) =>
    reply(201, await createContact(world, by, { reach: caller.reach, wanted: body })),
  ),
  route(contract.deleteContactEndpoint, ({ by, caller, params }) =>
    done(deleteContact(world, by, caller.reach, params.id)),
  ),
]
