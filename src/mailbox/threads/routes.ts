// Handlers of /v1/threads, and of the threads of an inbox.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPageBy, readPage } from '../../platform/http/paging.ts'
import { isUuid } from '../../platform/ids.ts'
import { mayAct } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { listFoldersOf } from '../folders/find.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import { listMessagesOfThread } from '../messages/list.ts'
import { hiddenBy } from '../messages/view.ts'
import * as contract from './contract.ts'
import { requireThread, withoutDiscarded } from './find.ts'
import { clearTaint, setThreadLabels } from './labels.ts'
import { presentThread, withoutContent } from './present.ts'
import { listThreads, type StoredThread, type ThreadPosition } from './queries.ts'

const BY_ACTIVITY = {
  isPosition: (value: unknown): value is ThreadPosition =>
    Array.isArray(value) && typeof value[0] === 'string' && isUuid(value[1]),
  positionOf: (thread: StoredThread): ThreadPosition => [thread.last_message_at.toISOString(), thread.id],
}

export const threadRoutes = (world: World): Route[] => [
  route(contract.listThreadsEndpoint, async ({ caller, params, query }) => {
    const { id: inboxId } = await requireInboxInReach(world.db, caller.reach, params.id)
    // Of one moment: what an emptied folder still holds is subtracted from the counts, and is being removed.
    const { folders, page } = await world.db.lists.atOneMoment(async moment => ({
      folders: await listFoldersOf(moment, inboxId),
      page: await readPageBy(BY_ACTIVITY, world.secrets, `threads/${inboxId}`, query, async keyset => {
        const found = await listThreads(moment, { inboxId, ...keyset })
        return { ...found, rows: await withoutDiscarded(moment, inboxId, found.rows) }
      }),
    }))
    const shown = folders.filter(({ name_key }) => name_key !== 'trash' && name_key !== 'spam')
    const hidden = hiddenBy(folders, shown)
    return reply(200, { threads: page.rows.map(presentThread), next_cursor: page.next_cursor, hidden })
  }),
  route(contract.getThreadEndpoint, async ({ caller, params }) => {
    const thread = await world.db.atOneMoment(moment => requireThread(moment, caller.reach, params.id))
    return reply(200, presentThread(thread))
  }),
  route(contract.listThreadMessagesEndpoint, async ({ caller, params, query }) => {
    const { page, hidden } = await world.db.lists.atOneMoment(async moment => {
      const thread = await requireThread(moment, caller.reach, params.id)
      const { list, hidden } = await listMessagesOfThread(moment, thread)
      // By the id that was asked for: it goes on to lead here when the thread becomes part of another between two pages.
      const name = `thread-messages/${params.id.toLowerCase()}`
      return { page: await readPage(world.secrets, name, query, list), hidden }
    })
    return reply(200, { messages: page.rows, next_cursor: page.next_cursor, hidden })
  }),
  route(contract.setThreadLabelsEndpoint, async ({ by, caller, params, body }) => {
    const thread = await setThreadLabels(world, by, { reach: caller.reach, id: params.id, labels: body.labels })
    return reply(200, mayAct(caller, 'read') ? thread : withoutContent(thread))
  }),
  route(contract.clearTaintEndpoint, async ({ by, caller, params }) =>
    reply(200, await clearTaint(world, by, { reach: caller.reach, id: params.id })),
  ),
]
