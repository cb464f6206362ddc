// What was used in a month, per day and per tenant.
import type { Reads } from '../../platform/db/database.ts'
import { exactInteger } from '../../platform/http/exact-integer.ts'
import type { Reach } from '../../platform/principal.ts'
import type { Month } from './month.ts'
import { listDayTotals } from './queries.ts'

export async function usageByDay(db: Reads, reach: Reach, month: Month) {
  const rows = await listDayTotals(db, reach, month)
  const sum = (counts: string[]): number => exactInteger(counts.reduce((left, right) => left + BigInt(right), 0n))
  return {
    recipients: sum(rows.map(row => row.recipients)),
    messages: sum(rows.map(row => row.messages)),
    days: rows.map(row => ({ date: row.date, ...exact(row) })),
  }
}

/** Counts as they come from the database. */
export const exact = ({ recipients, messages }: { recipients: string; messages: string }) => ({
  recipients: exactInteger(BigInt(recipients)),
  messages: exactInteger(BigInt(messages)),
})
