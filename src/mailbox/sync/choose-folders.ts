// Which folders of the provider are mirrored, and where. By the use that the provider states, else by the usual names, which
// the IMAP library knows in many languages. Drafts, what waits to be sent and views of other folders are not mirrored.
import type { SystemName } from '../folders/system.ts'

interface ListedFolder {
  path: string
  delimiter?: string
  flags: ReadonlySet<string>
  specialUse?: string | undefined
}

export interface ChosenFolder {
  path: string
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

/** The inbox first; then what people look at, and last what they do not. */
export function chooseFolders(listed: readonly ListedFolder[]): ChosenFolder[] {
  const open = listed.filter(({ flags }) => !has(flags, '\\Noselect') && !has(flags, '\\NonExistent'))
  const hasArchive = open.some(({ specialUse }) => specialUse === '\\Archive')
  const chosen = open.flatMap((folder): ChosenFolder[] => {
    const { path, specialUse = '' } = folder
    // One message, the archive included, is in "all mail": mirrored as well it would be there twice.
    if (specialUse === '\\All') return hasArchive ? [] : [{ path, role: 'archive', name: 'archive', isMirrored: false }]
    if (LEFT_OUT.has(specialUse) || has(folder.flags, '\\Important') || has(folder.flags, '\\All')) return []
    const role = path.toUpperCase() === 'INBOX' ? 'inbox' : (ROLES[specialUse] ?? null)
    if (role === null && LEFT_OUT_NAMES.has(path.toLowerCase())) return []
    return [{ path, role, name: role ?? nameOf(folder), isMirrored: true }]
  })
  const custom = new Set(chosen.filter(({ role }) => role === null).slice(0, CUSTOM_MAX))
  return chosen.filter(each => each.role !== null || custom.has(each)).toSorted((a, b) => orderOf(a) - orderOf(b))
}

const has = (flags: ReadonlySet<string>, wanted: string): boolean =>
  [...flags].some(flag => flag.toLowerCase() === wanted.toLowerCase())

/** A level is shown by a slash, whatever the provider has for it. */
const nameOf = ({ path, delimiter }: ListedFolder): string => (delimiter ? path.split(delimiter).join('/') : path)

const ORDER: readonly (SystemName | null)[] = ['inbox', 'sent', 'archive', null, 'spam', 'trash']
const orderOf = ({ role }: ChosenFolder): number => ORDER.indexOf(role)
