// Keyset paging: a query asks for one row more than the page, and the cursor says where the page ended.
import { all, sql, type Sql } from '../db/sql.ts'
import { isUuid } from '../ids.ts'
import { refuse } from '../refusal.ts'
import type { Secrets } from '../secrets.ts'
import { LIMIT_DEFAULT } from './schemas.ts'

interface Asked {
  limit?: number
  cursor?: string
}

export interface Keyset<Position> {
  /** The position of the last row of the page before; null on the first page. */
  after: Position | null
  /** Rows to read: one more than the page, which tells whether there is another page. */
  limit: number
}

export interface TenantKeyset extends Keyset<string> {
  /** Null: every tenant within the caller's reach. */
  tenantId: string | null
}

/** The end of the statement of a list that is ordered by id: its conditions, and where the page is. */
export const newestFirst = (conditions: readonly (Sql | false)[], { after, limit }: Keyset<string>): Sql => sql`
  where ${all([...conditions, after !== null && sql`id < ${after}`])} order by id desc limit ${limit}`

/** What a query has found for a page. `isCut`: it ended before the limit, because the rows are large or hard to find. */
export interface Found<Row> {
  rows: Row[]
  isCut: boolean
  /** Where it ended, when that is not at its last row: it looked at rows that the caller did not ask for. */
  endedAt?: unknown
}

interface Page<Row> {
  rows: Row[]
  next_cursor: string | null
}

/** One page of a list ordered by a UUIDv7, newest first. The name of the list keeps its cursors from other lists. */
export const readPage = <Row extends { id: string }>(
  secrets: Secrets,
  list: string,
  asked: Asked,
  read: (keyset: Keyset<string>) => Promise<Row[] | Found<Row>>,
): Promise<Page<Row>> => readPageBy({ isPosition: isUuid, positionOf: row => row.id }, secrets, list, asked, read)

interface Order<Row, Position> {
  isPosition(value: unknown): value is Position
  positionOf(row: Row): Position
}

/** One page of a list in another order. A cursor that was not made by us for this list is 400. */
export async function readPageBy<Row, Position>(
  { isPosition, positionOf }: Order<Row, Position>,
  secrets: Secrets,
  list: string,
  { limit, cursor }: Asked,
  read: (keyset: Keyset<Position>) => Promise<Row[] | Found<Row>>,
): Promise<Page<Row>> {
  let after: Position | null = null
  if (cursor !== undefined) {
    const position = secrets.readCursor(list, cursor)
    if (!isPosition(position)) throw refuse('invalid_request', 'cursor is not one that this list gave out.')
    after = position
  }
  const { rows, last, endedAt } = await readRows(limit, each => read({ after, limit: each }))
  const position = endedAt ?? (last && positionOf(last))
  return { rows, next_cursor: position === null ? null : secrets.signCursor(list, position) }
}

/** For lists whose callers name the position themselves. `last` is the page's last row where another page follows. */
export async function readRows<Row>(
  limit: number = LIMIT_DEFAULT,
  read: (limit: number) => Promise<Row[] | Found<Row>>,
): Promise<{ rows: Row[]; last: Row | null; endedAt?: unknown }> {
  const answer = await read(limit + 1)
  const found = Array.isArray(answer) ? { rows: answer, isCut: false } : answer
  const rows = found.rows.slice(0, limit)
  const last = found.isCut || found.rows.length > limit ? (rows.at(-1) ?? null) : null
  return { rows, last, endedAt: found.endedAt }
}
