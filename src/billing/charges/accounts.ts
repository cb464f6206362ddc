// Usage and charge of every account, for the operator.
import type { Reads } from '../../platform/db/database.ts'
import { exactInteger } from '../../platform/http/exact-integer.ts'
import type { Keyset } from '../../platform/http/paging.ts'
import { listAccountPlans } from '../assignments/effective.ts'
import { listPlansById } from '../plans/find.ts'
import { chargeLine } from './charge.ts'
import type { Month } from './month.ts'
import { listAccountTotalsAnywhere, listBilledAccountsAnywhere } from './queries.ts'

/** Summed in one statement. A month of an account with 5,000 tenants is 155,000 rows: a page of those takes many. */
const ACCOUNTS_PER_STATEMENT = 20

export async function listAccountCharges(db: Reads, { month, after, limit }: Keyset<string> & { month: Month }) {
  const accounts = await listBilledAccountsAnywhere(db, { after, limit })
  const ids = accounts.map(({ id }) => id)
  const effective = await listAccountPlans(db, ids, month.last)
  const planIds = new Set(effective.map(each => each.plan_id).filter(id => id !== null))
  const plans = new Map((await listPlansById(db, [...planIds])).map(plan => [plan.id, plan]))
  const planOf = new Map(effective.map(each => [each.account_id, plans.get(each.plan_id ?? '') ?? null]))
  const totals = new Map<string, { recipients: string; messages: string }>()
  for (let at = 0; at < ids.length; at += ACCOUNTS_PER_STATEMENT) {
    const rows = await listAccountTotalsAnywhere(db, ids.slice(at, at + ACCOUNTS_PER_STATEMENT), month)
    for (const row of rows) totals.set(row.account_id, row)
  }
  return accounts.map(({ id, name }) => {
    const { recipients, messages } = totals.get(id) ?? { recipients: '0', messages: '0' }
    const { tenant_id: _, ...charge } = chargeLine(null, planOf.get(id) ?? null, BigInt(recipients))
    return { id, name, messages: exactInteger(BigInt(messages)), ...charge }
  })
}
