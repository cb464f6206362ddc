// The newest messages that a search looks at. Every statement reads a bounded number of rows, whatever the size of the
// inbox: what no index answers is looked for among the newest rows only.
import { all, bareArray, sql, type Sql } from '../../platform/db/sql.ts'
import { isAsked, type Scope } from './scope.ts'

interface Reading {
  folderIds: readonly string[]
  scope: Scope
  /** Rows that are looked at for what no index answers. */
  scanMax: number
  limit: number
}

/** Ids of messages that pass all operators. */
export const newestAsked = (reading: Reading): Sql =>
  isIndexed(reading.scope) ? newest(reading) : passing(reading, isAsked(reading.scope))

export const isIndexed = ({ labels, filters }: Scope): boolean => filters.length === 0 && labels.length <= 1

/** Ids of messages that pass the operators that an index answers. */
export const newest = (reading: Reading): Sql =>
  reading.scope.labels.length > 0 ? passing(reading, sql`true`) : merged(reading)

function passing(reading: Reading, condition: Sql): Sql {
  const { folderIds, scope, scanMax, limit } = reading
  const candidates = scope.labels.length > 0 ? labelled(reading) : merged({ ...reading, limit: scanMax })
  return sql`
    select candidate.id from (${candidates}) candidate cross join lateral (${rowOf(sql`candidate.id`)}) m
    where ${all([isIn(folderIds), scope.hasAttachment && sql`m.has_attachments`, condition])}
    order by candidate.id desc limit ${limit}`
}

/**
 * The newest of each folder along its index, merged as they are read: a folder of any size costs only what it has among
 * the newest. The index has the id, and nothing else is asked for: for whole rows the planner may sort all of a folder.
 */
const merged = ({ folderIds, scope, limit }: Reading): Sql => sql`
  select m.id from (${unionAll(
    folderIds.map(
      id => sql`(
        select m.id from inbox_messages m
        where ${all([sql`m.folder_id = ${id}`, scope.hasAttachment && sql`m.has_attachments`, ...scope.bounds])}
        order by m.id desc limit ${limit})`,
    ),
  )}) m
  order by m.id desc limit ${limit}`

/** In halves: an inbox may have 505 folders, and one after the other each would copy all before it. */
function unionAll(parts: readonly Sql[]): Sql {
  if (parts.length === 0) return sql`select m.id from inbox_messages m where false`
  if (parts.length === 1) return parts[0]!
  const half = parts.length >> 1
  return sql`${unionAll(parts.slice(0, half))} union all ${unionAll(parts.slice(half))}`
}

/** Of all folders: the index of labels knows none. */
const labelled = ({ scope, scanMax }: Reading): Sql => sql`
  select m.id from (
    select message_id as id from message_labels where inbox_id = ${scope.inboxId} and label = ${scope.labels[0]}
  ) m
  where ${all(scope.bounds)} order by m.id desc limit ${scanMax}`

/** By the primary key, for conditions on `m`. `offset 0` keeps the planner from a join that reads the whole table. */
export const rowOf = (id: Sql): Sql => sql`
  select m.id, m.folder_id, m.has_attachments, m.labels, m.is_blocked from inbox_messages m where m.id = ${id} offset 0`

export const isIn = (folderIds: readonly string[]): Sql => sql`m.folder_id = any(${bareArray(folderIds)}::uuid[])`
