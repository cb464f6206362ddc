// Which folders of the provider are mirrored, and where. By the use that the provider states, else by the usual names, which
// the IMAP library knows in many languages. Drafts, what waits to be sent and views of other folders are not mirrored.
import type { SystemName } from '../folders/system.ts'
import { storableText } from '../storable.ts'

interface ListedFolder {
  path: string
  delimiter?: string
  flags: ReadonlySet<string>
  specialUse?: string | undefined
}

export interface ChosenFolder {
  path: string
  delimiter: string
  /** Null: a folder of its own, called by its path. */
  role: SystemName | null
  name: string
  /** False: only looked into, for messages that left every other folder. */
  isMirrored: boolean
}

const ROLES: Readonly<Record<string, SystemName>> = {
  '\\Inbox': 'inbox',
  '\\Sent': 'sent',
  '\\Archive': 'archive',
  '\\Junk': 'spam',
  '\\Trash': 'trash',
}
/** Beside all mail, which is special. The last two are views. */
const LEFT_OUT = new Set(['\\Drafts', '\\Outbox', '\\Flagged', '\\Important'])
const LEFT_OUT_NAMES = new Set(['outbox', 'drafts'])
const CUSTOM_MAX = 500
/** Within an index of the database, whose entries are bounded. No provider lets a person type so much. */
const PATH_CHARS_MAX = 500

/**
 * The inbox first; then what people look at, and last what they do not. Of too many, those at the paths in `known` are kept:
 * one that is left out because another one was made would count as removed.
 */
export function chooseFolders(listed: readonly ListedFolder[], known: ReadonlySet<string> = new Set()): ChosenFolder[] {
  const byPath = new Map(listed.filter(isUsable).map(folder => [folder.path, folder]))
  const open = [...byPath.values()]
  const hasArchive = open.some(({ specialUse }) => specialUse === '\\Archive')
  const chosen = open.flatMap((folder): ChosenFolder[] => {
    const { path, delimiter = '', specialUse = '' } = folder
    // One message, the archive included, is in "all mail": mirrored as well it would be there twice.
    if (specialUse === '\\All')
      return hasArchive ? [] : [{ path, delimiter, role: 'archive', name: 'archive', isMirrored: false }]
    if (LEFT_OUT.has(specialUse) || has(folder.flags, '\\Important') || has(folder.flags, '\\All')) return []
    const role = path.toUpperCase() === 'INBOX' ? 'inbox' : (ROLES[specialUse] ?? null)
    if (role === null && LEFT_OUT_NAMES.has(path.toLowerCase())) return []
    return [{ path, delimiter, role, name: role ?? nameAt(path, delimiter), isMirrored: true }]
  })
  const isKnown = ({ path }: ChosenFolder): boolean => known.has(path)
  const own = chosen.filter(({ role }) => role === null)
  const custom = new Set([...own.filter(isKnown), ...own.filter(each => !isKnown(each))].slice(0, CUSTOM_MAX))
  return chosen.filter(each => each.role !== null || custom.has(each)).toSorted((a, b) => orderOf(a) - orderOf(b))
}

const has = (flags: ReadonlySet<string>, wanted: string): boolean =>
  [...flags].some(flag => flag.toLowerCase() === wanted.toLowerCase())

/** What can be opened, and whose path the database can hold: a NUL or half a surrogate pair would come back as another one. */
const isUsable = ({ path, flags }: ListedFolder): boolean =>
  !has(flags, '\\Noselect') &&
  !has(flags, '\\NonExistent') &&
  path.length <= PATH_CHARS_MAX &&
  path === storableText(path)

/** A level is shown by a slash, whatever the provider has for it. */
const nameAt = (path: string, delimiter: string): string => (delimiter === '' ? path : path.split(delimiter).join('/'))

/**
 * Paths for a folder of that name at the provider, the closest first: wildcards and what servers reserve are dashes, and in
 * the second one whatever is neither letter nor digit. A slash begins a level; empty levels are none.
 */
export function pathsFor(name: string, delimiter: string): string[] {
  const pathWith = (unsafe: RegExp): string =>
    name
      .split('/')
      .map(level => (delimiter === '' ? level : level.replaceAll(delimiter, '-')).replaceAll(unsafe, '-').trim())
      .filter(level => level !== '')
      .join(delimiter === '' ? '-' : delimiter)
  const paths = new Set([pathWith(RESERVED), pathWith(UNUSUAL) || 'Folder'])
  return [...paths].filter(path => path !== '' && path.toUpperCase() !== 'INBOX')
}

const RESERVED = /[%*"\\\p{Cc}]|^\.+$|^~/gu
const UNUSUAL = /[^\p{L}\p{M}\p{N} _-]/gu

const ORDER: readonly (SystemName | null)[] = ['inbox', 'sent', 'archive', null, 'spam', 'trash']
const orderOf = ({ role }: ChosenFolder): number => ORDER.indexOf(role)
