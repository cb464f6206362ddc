// Handlers of /v1/approvals, and of the approvals of an inbox.
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import { approve } from './approve.ts'
import { approveEndpoint, getApprovalEndpoint, listApprovalsEndpoint, rejectEndpoint } from './contract.ts'
import { presentApproval } from './present.ts'
import { listApprovals, requireApproval } from './queries.ts'
import { reject } from './reject.ts'

export const approvalRoutes = (world: World, composing: Composing): Route[] => [
  route(listApprovalsEndpoint, async ({ caller, params, query }) => {
    const { id: inboxId } = await requireInboxInReach(world.db, caller.reach, params.id)
    const status = query.status ?? null
    const page = await readPage(world.secrets, `approvals/${inboxId}`, query, keyset =>
      listApprovals(world.db, caller.reach, { inboxId, status, ...keyset }),
    )
    return reply(200, { approvals: page.rows.map(presentApproval), next_cursor: page.next_cursor })
  }),
  route(getApprovalEndpoint, async ({ caller, params }) =>
    reply(200, presentApproval(await requireApproval(world.db, caller.reach, params.id))),
  ),
  route(approveEndpoint, async ({ by, caller, params }) =>
    reply(200, await approve(world, composing, { by, caller, id: params.id })),
  ),
  route(rejectEndpoint, async ({ by, caller, params }) =>
    reply(200, await reject(world, by, { reach: caller.reach, id: params.id })),
  ),
]
