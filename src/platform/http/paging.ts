// Keyset paging: a query asks for one row more than the page, and the cursor says where the page ended.
import { refuse } from '../refusal.ts'
import type { Secrets } from '../secrets.ts'
import { isUuid } from '../ids.ts'

export interface Page<Row> {
  rows: Row[]
  hasMore: boolean
}

export const pageOf = <Row>(rows: Row[], limit: number): Page<Row> => ({
  rows: rows.slice(0, limit),
  hasMore: rows.length > limit,
})

/** For lists ordered by a UUIDv7, newest first. A cursor that was not made by us for this list is 400. */
export function readIdCursor(secrets: Secrets, list: string, cursor: string | undefined): string | null {
  if (cursor === undefined) return null
  const position = secrets.readCursor(list, cursor)
  if (!isUuid(position)) throw refuse('invalid_request', 'cursor is not one that this list gave out.')
  return position
}

export const nextIdCursor = (secrets: Secrets, list: string, page: Page<{ id: string }>): string | null =>
  page.hasMore ? secrets.signCursor(list, page.rows.at(-1)!.id) : null
