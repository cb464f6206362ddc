// Looking into every folder of the provider in turn, by its STATUS: only where that changed the folder is opened. What was lost
// before a round began, and was found in no folder during it, is settled at its end.
import type { StatusObject } from 'imapflow'
import { hasHistory } from './fetch.ts'
import type { Mirror, MirrorFolder } from './mirror.ts'
import { listLostNow, settleFolders, settleLost } from './settle.ts'
import { loadFolders } from './load-folders.ts'

/** STATUS is a command for each folder on most servers. Beside the five that every inbox has. */
const CUSTOM_PER_STEP = 40
/** Folders that were made at the provider are found within so many steps; one that is gone, by its STATUS. */
const STEPS_PER_LIST = 5
/** Every so many rounds a folder is opened whatever its STATUS says: two flags may have changed places. */
const ROUNDS_PER_OPEN = 15

export class Rounds {
  readonly #mirror: Mirror
  readonly #catchUp: (folder: MirrorFolder) => Promise<unknown>
  readonly #seen = new Map<string, string>()
  #step = 0
  #round = 0
  /** Folders that this round has not looked into yet. */
  #left: MirrorFolder[] = []
  #lostBefore: ReadonlySet<string> = new Set()

  constructor(mirror: Mirror, catchUp: (folder: MirrorFolder) => Promise<unknown>) {
    this.#mirror = mirror
    this.#catchUp = catchUp
  }

  /** One step of a round, mostly a whole one. Answers whether another one is worth while at once. */
  async next(): Promise<boolean> {
    this.#step += 1
    if (this.#step % STEPS_PER_LIST === 0) await this.listAgain()
    if (this.#left.length === 0) await this.#begin()
    const step = this.#left.splice(0, CUSTOM_PER_STEP + 5)
    for (const folder of step) await this.#look(folder)
    if (this.#left.length > 0 || this.#mirror.folders.some(hasHistory)) return false
    const mayBeMore = (await settleLost(this.#mirror, this.#lostBefore)) || (await listLostNow(this.#mirror)).size > 0
    if (!mayBeMore) await settleFolders(this.#mirror)
    return mayBeMore
  }

  async #begin(): Promise<void> {
    this.#round += 1
    this.#lostBefore = await listLostNow(this.#mirror)
    // It may lie in a folder that is new at the provider: that one is to be looked into before anything counts as gone.
    if (this.#lostBefore.size > 0) await this.listAgain()
    this.#left = [...this.#mirror.folders]
  }

  async #look(folder: MirrorFolder): Promise<void> {
    const status = await this.#mirror.imap.status(folder.path)
    if (!status) return this.listAgain()
    const shown = shownOf(status)
    const isDue = (this.#round + this.#mirror.folders.indexOf(folder)) % ROUNDS_PER_OPEN === 0
    // The one that is only looked into changes with every mail; what is known of it seldom does.
    if (!isDue && (!folder.is_mirrored || this.#seen.get(folder.id) === shown)) return
    await this.#catchUp(folder)
    this.#seen.set(folder.id, shown)
  }

  async listAgain(): Promise<void> {
    const before = new Map(this.#mirror.folders.map(folder => [folder.id, folder]))
    const folders = await loadFolders(this.#mirror)
    // Those that are known keep what is pending in them.
    this.#mirror.folders = folders.map(folder => {
      const known = before.get(folder.id)
      if (!known) return folder
      const { path, name, delimiter, role, is_mirrored, folder_id, agreed_name } = folder
      return Object.assign(known, { path, name, delimiter, role, is_mirrored, folder_id, agreed_name })
    })
    const present = new Set(this.#mirror.folders)
    this.#left = this.#left.filter(folder => present.has(folder))
  }
}

const shownOf = ({ messages, uidNext, uidValidity, unseen, highestModseq }: StatusObject): string =>
  [messages, uidNext, uidValidity, unseen, highestModseq].join(' ')
