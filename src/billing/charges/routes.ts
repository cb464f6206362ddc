// Handlers of /v1/billing/usage, preview and export, and of /admin/v1/billing/accounts.
import { requireTenantInReach } from '../../identity/tenants/find.ts'
import { reply, route, type Route } from '../../platform/http/contract.ts'
import { readPage, readPageBy, type Keyset } from '../../platform/http/paging.ts'
import { isUuid } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { listAccountCharges } from './accounts.ts'
import * as contract from './contract.ts'
import { exportUsage } from './export.ts'
import { monthOf } from './month.ts'
import { previewLines } from './preview.ts'
import { listTenantTotals, listUsedCards, type TenantTotal, type UsedCard } from './queries.ts'
import { exact, usageByDay } from './usage.ts'

export const chargeRoutes = (world: World): Route[] => [
  route(contract.getUsageEndpoint, async ({ caller, query }) => {
    const month = monthOf(query.month, world.clock.now())
    const tenantId = query.tenant_id
    if (tenantId !== undefined) await requireTenantInReach(world.db, caller.reach, tenantId)
    const reach = tenantId === undefined ? caller.reach : { ...caller.reach, tenantId }
    const page = withLimit(query)
    // Of one moment: the tenants add up to the total.
    const [used, { rows, next_cursor }] = await world.db.lists.atOneMoment(async db => [
      await usageByDay(db, reach, month),
      await readPageBy<TenantTotal, string>(BY_TENANT, world.secrets, 'billing-usage', page, keyset =>
        listTenantTotals(db, reach, { month, ...keyset }),
      ),
    ])
    const tenants = rows.map(row => ({ tenant_id: row.tenant_id, ...exact(row) }))
    return reply(200, { month: month.month, ...used, tenants, next_cursor })
  }),
  route(contract.previewEndpoint, async ({ caller, query }) => {
    const month = monthOf(query.month, world.clock.now())
    const db = world.db.lists
    let all = 0n
    const read = async (keyset: Keyset<string>) => {
      const [total, ...cards] = await listUsedCards(db, caller.reach, { month, ...keyset })
      all = BigInt(total.recipients)
      return cards
    }
    const { rows, next_cursor } = await readPageBy<UsedCard, string>(
      BY_TENANT,
      world.secrets,
      'billing-preview',
      withLimit(query),
      read,
    )
    const withAccount = caller.level === 'account' && query.cursor === undefined
    const accountRecipients = withAccount ? all : null
    const lines = await previewLines(db, caller.reach, { month, cards: rows, accountRecipients, slices: world.slices })
    return reply(200, { month: month.month, preview: true as const, lines, next_cursor })
  }),
  route(contract.exportEndpoint, async ({ caller, query }) => {
    const month = monthOf(query.month, world.clock.now())
    const format = query.format ?? 'json'
    return reply(200, exportUsage(world.db.lists, caller.reach, { month, format }), {
      'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="usage-${month.month}.${format}"`,
      'cache-control': 'no-store',
    })
  }),
  route(contract.listBilledAccountsEndpoint, async ({ query }) => {
    const month = monthOf(query.month, world.clock.now())
    const { rows, next_cursor } = await readPage(world.secrets, 'billing-accounts', query, keyset =>
      listAccountCharges(world.db.lists, { month, ...keyset }),
    )
    const accounts = rows.map(({ id, ...row }) => ({ account_id: id, ...row }))
    return reply(200, { month: month.month, preview: true as const, accounts, next_cursor })
  }),
]

const withLimit = ({ limit = contract.TENANTS_MAX, cursor }: { limit?: number; cursor?: string }) => ({
  limit,
  ...(cursor !== undefined && { cursor }),
})

/** Tenants in the order of their ids. */
const BY_TENANT = { isPosition: isUuid, positionOf: (row: { tenant_id: string }) => row.tenant_id }
