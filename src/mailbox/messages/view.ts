// Which folders a list of messages shows, and what it leaves out: read from the kept counts.
import { unknownFolder, type Folder } from '../folders/find.ts'
import { folderKey } from '../folders/name.ts'
import type { Hidden } from './message-schema.ts'

/** `all` is every folder; without a name it is every folder but trash. */
export function viewOf(folders: readonly Folder[], name: string | undefined) {
  const shown = shownBy(folders, name)
  return {
    folders: shown,
    isOneFolder: name !== undefined && folderKey(name) !== 'all',
    hidden: hiddenBy(folders, shown),
  }
}

function shownBy(folders: readonly Folder[], name: string | undefined): Folder[] {
  if (name === undefined) return folders.filter(folder => folder.name_key !== 'trash')
  const key = folderKey(name)
  if (key === 'all') return [...folders]
  const folder = folders.find(each => each.name_key === key)
  if (!folder) throw unknownFolder('query.folder')
  return [folder]
}

/** Spam and trash are what a reader may miss; other folders were left out because another one was asked for. */
export function hiddenBy(folders: readonly Folder[], shown: readonly Folder[]): Hidden {
  const leftOut = folders.filter(folder => !shown.includes(folder))
  const spam = leftOut.find(({ name_key }) => name_key === 'spam')
  const trash = leftOut.find(({ name_key }) => name_key === 'trash')
  return {
    spam: spam?.total ?? 0,
    trash: trash?.total ?? 0,
    blocked: (spam?.blocked ?? 0) + (trash?.blocked ?? 0),
  }
}
