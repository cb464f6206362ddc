// The usage of a month as a file. Read and written in slices by keyset: memory does not grow with the number of rows.
import type { Reads } from '../../platform/db/database.ts'
import type { Chunks } from '../../platform/http/contract.ts'
import type { Reach } from '../../platform/principal.ts'
import { csvRow, UTF8_MARK } from './csv.ts'
import type { Month } from './month.ts'
import { listUsageRows, type UsageRow } from './queries.ts'

/** Rows per statement: some hundred kilobytes, a few milliseconds of the main thread. */
const SLICE_ROWS = 2_000

export const exportUsage = (
  db: Reads,
  reach: Reach,
  { month, format }: { month: Month; format: 'csv' | 'json' },
): Chunks => {
  const slices = readSlices(db, reach, month)
  return format === 'csv' ? asCsv(slices) : asJson(slices, month)
}

async function* readSlices(db: Reads, reach: Reach, month: Month): AsyncGenerator<UsageRow[]> {
  let after: UsageRow | null = null
  for (;;) {
    const rows: UsageRow[] = await listUsageRows(db, reach, { month, after, limit: SLICE_ROWS })
    yield rows
    if (rows.length < SLICE_ROWS) return
    after = rows.at(-1)!
  }
}

const COLUMNS = ['date', 'tenant_id', 'external_id', 'tenant_name', 'recipients', 'messages'] as const

async function* asCsv(slices: AsyncIterable<UsageRow[]>): AsyncGenerator<string> {
  let head = UTF8_MARK + csvRow(COLUMNS)
  for await (const rows of slices) {
    yield head + rows.map(row => csvRow(COLUMNS.map(column => row[column]))).join('')
    head = ''
  }
}

/** One JSON object, a row per line. Counts are written as they came from the database: exact at any size. */
async function* asJson(slices: AsyncIterable<UsageRow[]>, { month }: Month): AsyncGenerator<string> {
  let head = `{"month":${JSON.stringify(month)},"rows":[\n`
  let separator = ''
  for await (const rows of slices) {
    let text = head
    head = ''
    for (const row of rows) {
      text += separator + jsonRow(row)
      separator = ',\n'
    }
    yield text
  }
  yield '\n]}\n'
}

function jsonRow({ recipients, messages, ...row }: UsageRow): string {
  const texts = JSON.stringify(row).slice(0, -1)
  return `${texts},"recipients":${recipients},"messages":${messages}}`
}
