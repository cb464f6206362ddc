// Which messages of an inbox a search looks at: its folders, and the operators that are about messages and not their words.
import { firstIdAt } from '../../platform/ids.ts'
import { any, sql, type Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/refusal.ts'
import { folderKey } from '../folders/name.ts'
import type { Filter, Group } from './parse-query.ts'

export interface SearchedFolder {
  id: string
  name: string
  total: number
  /** Emptied: what is in it is gone for every reader. */
  is_discarded: boolean
}

export interface Scope {
  folderIds: string[]
  /** What the default leaves out, and would have been looked at otherwise. */
  hiddenIds: string[]
  /** Conditions on `m`, a message. */
  conditions: Sql[]
}

/** In `folder` and behind `in:`. */
const ALL = new Set(['all', 'anywhere'])
const HIDDEN = 'trash'

export function scopeOf(
  groups: readonly Group[],
  { inboxId, folder, folders: all }: { inboxId: string; folder: string | null; folders: readonly SearchedFolder[] },
): Scope {
  const folders = all.filter(({ is_discarded }) => !is_discarded)
  const filters = groups.flatMap(group => (group.kind === 'filter' ? [group.any] : []))
  const byFolder = filters.filter(each => each.every(({ by }) => by.kind === 'folder'))
  const namesFolder = byFolder.some(each => each.some(({ isNegated }) => !isNegated))
  const isDefault = folder === null && !namesFolder
  const base = folder === null ? folders : foldersNamed(folders, folder, 'folder')
  const within = byFolder.reduce((left, each) => left.filter(of => isInAny(of, each, folders)), base)
  const shown = within.filter(({ name }) => !isDefault || !isHidden(name))
  return {
    folderIds: shown.map(({ id }) => id),
    hiddenIds: isDefault ? within.filter(({ name, total }) => isHidden(name) && total > 0).map(({ id }) => id) : [],
    conditions: filters
      .filter(each => !byFolder.includes(each))
      .map(each => any(each.map(filter => conditionOf(filter, { inboxId, folders })))),
  }
}

const isHidden = (name: string): boolean => folderKey(name) === HIDDEN

const isInAny = (folder: SearchedFolder, filters: readonly Filter[], folders: readonly SearchedFolder[]): boolean =>
  filters.some(
    ({ by, isNegated }) => by.kind === 'folder' && foldersNamed(folders, by.name, 'in:').includes(folder) !== isNegated,
  )

/** Names are compared without case, as when they are given. */
function foldersNamed(folders: readonly SearchedFolder[], name: string, where: string): readonly SearchedFolder[] {
  const key = folderKey(name)
  if (ALL.has(key)) return folders
  const found = folders.filter(folder => folderKey(folder.name) === key)
  const shown = where === 'folder' ? 'folder' : 'in: in q'
  if (found.length === 0) throw refuse('invalid_request', `${shown} names no folder of this inbox.`)
  return found
}

function conditionOf(
  { by, isNegated }: Filter,
  { inboxId, folders }: { inboxId: string; folders: readonly SearchedFolder[] },
): Sql {
  const condition = plainCondition(by, { inboxId, folders })
  return isNegated ? sql`not ${condition}` : condition
}

/** Ids of messages tell when they came, so that a time is a bound of the order they are read in. */
function plainCondition(
  by: Filter['by'],
  { inboxId, folders }: { inboxId: string; folders: readonly SearchedFolder[] },
): Sql {
  switch (by.kind) {
    case 'attachment':
      return sql`m.has_attachments`
    case 'label':
      return sql`exists (select 1 from message_labels l
        where l.inbox_id = ${inboxId} and l.label = ${by.label} and l.message_id = m.id)`
    case 'folder':
      return sql`m.folder_id = any(${foldersNamed(folders, by.name, 'in:').map(({ id }) => id)}::uuid[])`
    case 'before':
      return sql`m.id < ${firstIdAt(by.time)}`
    case 'after':
      return sql`m.id >= ${firstIdAt(by.time)}`
  }
}
