// Handlers of drafts.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import * as contract from './contract.ts'
import { presentDraft } from './present.ts'
import { listDrafts, requireDraft } from './queries.ts'
import { createDraft, deleteDraft, updateDraft } from './save.ts'
import { cancelDraft, scheduleDraft } from './schedule.ts'
import { sendDraft } from './send.ts'

export const draftRoutes = (world: World, composing: Composing): Route[] => [
  route(contract.listDraftsEndpoint, async ({ caller, params, query }) => {
    const { id: inboxId } = await requireInboxInReach(world.db, caller.reach, params.id)
    const { rows, next_cursor } = await readPage(world.secrets, `drafts ${inboxId}`, query, keyset =>
      listDrafts(world.db.lists, inboxId, keyset),
    )
    return reply(200, { drafts: rows.map(presentDraft), next_cursor })
  }),
  route(contract.createDraftEndpoint, async ({ by, caller, params, body }) =>
    reply(201, { draft: await createDraft(world, { by, caller, body, inboxId: params.id }) }),
  ),
  route(contract.getDraftEndpoint, async ({ caller, params }) =>
    reply(200, { draft: presentDraft(await requireDraft(world.db, caller.reach, params.id)) }),
  ),
  route(contract.updateDraftEndpoint, async ({ by, caller, params, body }) =>
    reply(200, { draft: await updateDraft(world, { by, caller, body, id: params.id }) }),
  ),
  route(contract.deleteDraftEndpoint, async ({ by, caller, params }) => {
    await deleteDraft(world, by, { reach: caller.reach, id: params.id })
    return reply(200, { deleted: true })
  }),
  route(contract.sendDraftEndpoint, async ({ by, caller, params }) =>
    reply(202, await sendDraft(world, composing, { by, caller, id: params.id })),
  ),
  route(contract.scheduleDraftEndpoint, async ({ by, caller, params, body }) =>
    reply(200, await scheduleDraft(world, { by, caller, id: params.id, sendAt: body.send_at })),
  ),
  route(contract.cancelDraftEndpoint, async ({ by, caller, params }) =>
    reply(200, await cancelDraft(world, { by, caller, id: params.id })),
  ),
]
