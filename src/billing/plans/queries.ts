// All SQL over plans; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { isUniqueViolation } from '../../platform/db/errors.ts'
import { sql, type Sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { missing, refuse } from '../../platform/refusal.ts'
import type { Plan } from './plan.ts'

type Row = RowOf<Omit<Plan, 'active'>, 'created_at' | 'archived_at'>

const columns = sql`id, name, currency, base_price_minor, included_recipients, overage_per_thousand_minor, tiers,
  payment_price_id, created_at, archived_at`

const toPlan = (row: Row): Plan => ({ ...withTimesAsText(row), active: row.archived_at === null })

export const insertPlan = (tx: Tx, plan: Omit<Plan, 'active' | 'created_at' | 'archived_at'>): Promise<Plan> =>
  writePlan(
    tx,
    sql`
    insert into plans (id, name, currency, base_price_minor, included_recipients, overage_per_thousand_minor, tiers,
      payment_price_id, created_at)
    values (${plan.id}, ${plan.name}, ${plan.currency}, ${plan.base_price_minor}, ${plan.included_recipients},
      ${plan.overage_per_thousand_minor}, ${JSON.stringify(plan.tiers)}, ${plan.payment_price_id}, ${tx.now})
    returning ${columns}`,
  )

export const updatePlanRow = (tx: Tx, plan: Plan): Promise<Plan> =>
  writePlan(
    tx,
    sql`
    update plans set name = ${plan.name}, currency = ${plan.currency}, base_price_minor = ${plan.base_price_minor},
      included_recipients = ${plan.included_recipients}, overage_per_thousand_minor = ${plan.overage_per_thousand_minor},
      tiers = ${JSON.stringify(plan.tiers)}, payment_price_id = ${plan.payment_price_id}
    where id = ${plan.id}
    returning ${columns}`,
  )

async function writePlan(tx: Tx, statement: Sql): Promise<Plan> {
  try {
    return toPlan(await tx.one<Row>(statement))
  } catch (error) {
    if (!isUniqueViolation(error, 'plans_payment_price')) throw error
    throw refuse('conflict', 'Another active plan has this payment_price_id.')
  }
}

export const archivePlanRow = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`update plans set archived_at = ${tx.now} where id = ${id}`)

export async function requirePlan(db: Db, id: string): Promise<Plan> {
  const row = await db.maybe<Row>(sql`select ${columns} from plans where id = ${id}`)
  return toPlan(row ?? missing('plan'))
}

/** Finds and locks: it is neither changed nor archived until the transaction ends. */
export async function requirePlanForUpdate(tx: Tx, id: string): Promise<Plan> {
  const row = await tx.maybe<Row>(sql`select ${columns} from plans where id = ${id} for update`)
  return toPlan(row ?? missing('plan'))
}

/** Locks against archiving, so that nobody is assigned a plan that is being archived. */
export async function requirePlanForShare(tx: Tx, id: string): Promise<Plan> {
  const row = await tx.maybe<Row>(sql`select ${columns} from plans where id = ${id} for share`)
  return toPlan(row ?? missing('plan'))
}

export async function listPlans(db: Reads, { isActiveOnly, ...page }: Keyset<string> & { isActiveOnly: boolean }) {
  const rows = await db.many<Row>(sql`
    select ${columns} from plans ${newestFirst([isActiveOnly && sql`archived_at is null`], page)}`)
  return rows.map(toPlan)
}

export async function listPlansById(db: Reads, ids: readonly string[]): Promise<Plan[]> {
  const rows = await db.many<Row>(sql`select ${columns} from plans where id = any(${ids}::uuid[])`)
  return rows.map(toPlan)
}

/** The active one; after it was archived, the newest that had the price: subscriptions go on. */
export async function findPlanByPrice(db: Db, priceId: string): Promise<Plan | null> {
  const row = await db.maybe<Row>(sql`
    select ${columns} from plans where payment_price_id = ${priceId}
    order by archived_at desc nulls first, id desc limit 1`)
  return row && toPlan(row)
}
