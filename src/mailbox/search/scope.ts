// Which messages of an inbox a search looks at: its folders, and the operators that are about messages and not their words.
import { firstIdAt } from '../../platform/ids.ts'
import { all, any, sql, type Sql } from '../../platform/db/sql.ts'
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

/** Conditions are on `m`, a message. What an index answers is kept apart from what needs the row of each message. */
export interface Scope {
  inboxId: string
  folderIds: string[]
  /** What the default leaves out, and would have been looked at otherwise. */
  hiddenIds: string[]
  /** On the id alone: where in the order of the messages the search begins and ends. */
  bounds: Sql[]
  /** Every message that is found has attachments. */
  hasAttachment: boolean
  /** Every message that is found has these labels. */
  labels: string[]
  /** All other operators. */
  filters: Sql[]
}

/** In `folder` and behind `in:`. */
const ALL = 'all'
const HIDDEN = 'trash'

export function scopeOf(
  groups: readonly Group[],
  { inboxId, folder, folders: every }: { inboxId: string; folder: string | null; folders: readonly SearchedFolder[] },
): Scope {
  const folders = every.filter(({ is_discarded }) => !is_discarded)
  const filters = groups.flatMap(group => (group.kind === 'filter' ? [group.any] : []))
  const byFolder = filters.filter(each => each.every(({ by }) => by.kind === 'folder'))
  const isDefault = folder === null && !filters.some(each => each.some(namesHidden))
  const base = folder === null ? folders : foldersNamed(folders, folder, 'folder')
  const within = byFolder.reduce((left, each) => left.filter(of => isInAny(of, each, folders)), base)
  const shown = within.filter(({ name }) => !isDefault || !isHidden(name))
  const others = filters.filter(each => !byFolder.includes(each))
  return {
    inboxId,
    folderIds: idsOf(shown),
    hiddenIds: isDefault ? idsOf(within.filter(({ name }) => isHidden(name))) : [],
    ...narrowed(others, folders),
  }
}

/** An empty folder is not looked into. */
const idsOf = (folders: readonly SearchedFolder[]): string[] =>
  folders.filter(({ total }) => total > 0).map(({ id }) => id)

/** An operator that stands alone may be answered by an index; alternatives are looked for message by message. */
function narrowed(groups: readonly (readonly Filter[])[], folders: readonly SearchedFolder[]) {
  const scope = { bounds: [] as Sql[], hasAttachment: false, labels: [] as string[], filters: [] as Sql[] }
  for (const group of groups) {
    const [first] = group as [Filter]
    const condition = any(group.map(filter => conditionOf(filter, folders)))
    if (group.length > 1) scope.filters.push(condition)
    else if (first.by.kind === 'before' || first.by.kind === 'after') scope.bounds.push(condition)
    else if (first.by.kind === 'attachment' && !first.isNegated) scope.hasAttachment = true
    else if (first.by.kind === 'label' && !first.isNegated) scope.labels.push(first.by.label)
    else scope.filters.push(condition)
  }
  return scope
}

/** What the row of a message says of all operators but those of time and folder. */
export const isAsked = ({ hasAttachment, labels, filters }: Scope): Sql =>
  all([hasAttachment && HAS_ATTACHMENT, ...labels.map(hasLabel), ...filters])

const isHidden = (name: string): boolean => folderKey(name) === HIDDEN

const namesHidden = ({ by, isNegated }: Filter): boolean =>
  by.kind === 'folder' && !isNegated && (isHidden(by.name) || folderKey(by.name) === ALL)

const isInAny = (folder: SearchedFolder, filters: readonly Filter[], folders: readonly SearchedFolder[]): boolean =>
  filters.some(
    ({ by, isNegated }) => by.kind === 'folder' && foldersNamed(folders, by.name, 'in:').includes(folder) !== isNegated,
  )

/** Names are compared without case, as when they are given. */
function foldersNamed(folders: readonly SearchedFolder[], name: string, where: string): readonly SearchedFolder[] {
  const key = folderKey(name)
  if (key === ALL) return folders
  const found = folders.filter(folder => folderKey(folder.name) === key)
  const shown = where === 'folder' ? 'folder' : 'in: in q'
  if (found.length === 0) throw refuse('invalid_request', `${shown} names no folder of this inbox.`)
  return found
}

function conditionOf({ by, isNegated }: Filter, folders: readonly SearchedFolder[]): Sql {
  const condition = plainCondition(by, folders)
  return isNegated ? sql`not ${condition}` : condition
}

/** Ids of messages tell when they came, so that a time is a bound of the order they are read in. */
function plainCondition(by: Filter['by'], folders: readonly SearchedFolder[]): Sql {
  switch (by.kind) {
    case 'attachment':
      return HAS_ATTACHMENT
    case 'label':
      return hasLabel(by.label)
    case 'folder':
      return sql`m.folder_id = any(${foldersNamed(folders, by.name, 'in:').map(({ id }) => id)}::uuid[])`
    case 'before':
      return sql`m.id < ${firstIdAt(by.time)}`
    case 'after':
      return sql`m.id >= ${firstIdAt(by.time)}`
  }
}

const HAS_ATTACHMENT = sql`m.has_attachments`

/** From the row, which has the labels too: one look into message_labels for each row and label would cost more. */
const hasLabel = (label: string): Sql => sql`(${label} = any(m.labels))`
