// Handlers of /v1/suspensions, of pausing and resuming a tenant, and of the operator's pausing of an account.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import type { Actor } from '../../platform/db/actor.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage } from '../../platform/http/paging.ts'
import { missing, notFound } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import * as contract from './contract.ts'
import { pause } from './pause.ts'
import { findActive, findSuspension, listSuspensions } from './queries.ts'
import { resumingWith } from './resume.ts'
import { requireScope } from './scope.ts'
import { findSuspendMode } from './scope-queries.ts'

export const suspensionRoutes = (world: World): Route[] => [
  ...readRoutes(world),
  ...pauseRoutes(world),
  ...resumeRoutes(world),
]

const readRoutes = (world: World): Route[] => [
  route(contract.listSuspensionsEndpoint, async ({ caller, query }) => {
    const { rows, next_cursor } = await readPage(world.secrets, 'suspensions', query, keyset =>
      listSuspensions(world.db.lists, caller.reach, { status: query.status ?? null, ...keyset }),
    )
    return reply(200, { suspensions: rows.map(seen), next_cursor })
  }),
  route(contract.getSuspensionEndpoint, async ({ caller, params }) => {
    const suspension = await findSuspension(world.db, caller.reach, params.id)
    return reply(200, seen(suspension ?? missing('suspension')))
  }),
]

function seen({ is_own, ...suspension }: contract.Suspension & { is_own: boolean }): contract.SuspensionSeen {
  if (is_own) return suspension
  const { held_count: _, created_by: __, evidence: ___, ...rest } = suspension
  // The contract has these always; null says as little as leaving them out.
  return { ...rest, resumed_by: null, resume_note: null }
}

const pauseRoutes = (world: World): Route[] => [
  route(contract.createSuspensionEndpoint, async ({ by, caller, body }) => {
    const { accountId } = caller.reach
    const suspension = await change(world, by, async tx => {
      const scope = await requireScope(tx, accountId, body)
      const queueAction = body.queue_action ?? (await findSuspendMode(tx, accountId))!.suspend_mode
      return pause(tx, { ...scope, accountId, reason: body.reason ?? null, queueAction, source: 'api' })
    })
    return suspension.created ? reply(201, suspension) : reply(200, suspension)
  }),
  route(contract.pauseTenantEndpoint, async ({ by, caller, params, body }) => {
    const { accountId } = caller.reach
    const suspension = await change(world, by, async tx => {
      const tenant = await requireTenantInReach(tx, caller.reach, params.id)
      return pause(tx, {
        accountId,
        tenantId: tenant.id,
        scopeType: 'tenant',
        scopeValue: tenant.id,
        reason: body?.reason ?? null,
        queueAction: body?.queue_action ?? 'hold',
        source: 'api',
      })
    })
    return suspension.created ? reply(201, suspension) : reply(200, suspension)
  }),
  route(contract.pauseAccountEndpoint, async ({ by, params, body }) => {
    const suspension = await change(world, by, async tx => {
      const mode = await findSuspendMode(tx, params.id)
      if (!mode) throw notFound('account')
      return pause(tx, {
        accountId: params.id,
        tenantId: null,
        scopeType: 'account',
        scopeValue: params.id,
        reason: body?.reason ?? null,
        queueAction: body?.queue_action ?? mode.suspend_mode,
        source: 'operator',
      })
    })
    return reply(200, suspension)
  }),
]

function resumeRoutes(world: World): Route[] {
  const resume = resumingWith(world)
  return [
    route(contract.resumeSuspensionEndpoint, async ({ by, caller, params, body }) => {
      const find = async (db: Db) => {
        const { is_own: _, ...suspension } =
          (await findSuspension(db, caller.reach, params.id)) ?? missing('suspension')
        return suspension
      }
      const { accountId } = caller.reach
      return reply(200, await resume(by, { accountId, find, order: body ?? {}, isOperator: false }))
    }),
    route(contract.resumeTenantEndpoint, async ({ by, caller, params, body }) => {
      const { accountId } = caller.reach
      const find = async (db: Db) => {
        const { id } = await requireTenantInReach(db, caller.reach, params.id)
        const scope = { accountId, tenantId: id, scopeType: 'tenant' as const, scopeValue: id }
        return (await findActive(db, scope, false)) ?? missing('pause')
      }
      return reply(200, await resume(by, { accountId, find, order: body ?? {}, isOperator: false }))
    }),
    route(contract.resumeAccountEndpoint, async ({ by, params, body }) => {
      const scope = { accountId: params.id, tenantId: null, scopeType: 'account' as const, scopeValue: params.id }
      // The operator's own pause first; the operator may also lift the account's.
      const find = async (db: Db) =>
        (await findActive(db, scope, true)) ?? (await findActive(db, scope, false)) ?? missing('pause')
      return reply(200, await resume(by, { accountId: params.id, find, order: body ?? {}, isOperator: true }))
    }),
  ]
}

/** Workers that wait for changes of pauses look at once. */
async function change<T>(world: World, by: Actor, recipe: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await world.db.transact(by, recipe)
  world.wakeups.hint('suspensions')
  return result
}
