// One session of a mirror, from sign-in until it is ended: catch up with every folder, push what was done here, fetch history
// from the newest down, then wait for either side to change something. It ends by throwing; all that it did is recorded.
import { Nap } from '../../platform/work/nap.ts'
import { reportProgress } from '../connections/mirror.ts'
import { checkFolder } from './check.ts'
import { fetchHistory, fetchNew, hasHistory, openFolder } from './fetch.ts'
import { fileBatch } from './file-batch.ts'
import { ProviderFault } from '../imap/fault.ts'
import type { LocalChanges } from './local-changes.ts'
import { LeaseLost, MIRROR, transactMirror, type Mirror, type MirrorFolder } from './mirror.ts'
import { pushFolders } from './push-folders.ts'
import { hasRemovals } from './local-change-queries.ts'
import { pushChanges } from './push.ts'
import { Rounds } from './rounds.ts'

/** How often what nobody tells us of is looked for. */
export interface Pace {
  pollMs: number
  progressMs: number
}

const WELL_MS = 60_000

export class MirrorSession {
  readonly #mirror: Mirror
  readonly #pace: Pace
  readonly #signal: AbortSignal
  readonly #rounds: Rounds
  readonly #nap = new Nap()
  #hasArrived = false
  #hasChanged = false
  /** Messages left a folder. They may be in one that was looked into before; while there is history they may be in that. */
  #hasLost = false
  readonly #changedHere = new Set<string>()
  #foldersChangedHere = false
  #polledAt = performance.now()
  #progressAt = -Infinity
  /** How many messages each folder had when it was last looked into, by its id. */
  readonly #counts = new Map<string, number>()
  /** When the mailbox was here for the first time in this session. */
  #liveAt: number | null = null

  constructor(mirror: Mirror, pace: Pace, signal: AbortSignal) {
    this.#mirror = mirror
    this.#pace = pace
    this.#signal = signal
    this.#rounds = new Rounds(mirror, folder => this.#catchUp(folder))
    mirror.imap.listen({
      arrived: () => this.#hear(() => (this.#hasArrived = true)),
      changed: () => this.#hear(() => (this.#hasChanged = true)),
    })
  }

  /** Providers end sessions after an hour or so. One that was well until then is simply begun again. */
  get wasWell(): boolean {
    return this.#liveAt !== null && performance.now() - this.#liveAt > WELL_MS
  }

  /** Never answers: it throws what ends it. */
  async run(changes: LocalChanges): Promise<never> {
    const stop = (): void => {
      this.#nap.end()
      this.#mirror.imap.close()
    }
    this.#signal.addEventListener('abort', stop, { once: true })
    const detach = await changes.attach(this.#mirror.lease.inboxId, ({ messageIds, hasFolders }) =>
      this.#hear(() => {
        messageIds.forEach(id => this.#changedHere.add(id))
        this.#foldersChangedHere ||= hasFolders
      }),
    )
    try {
      this.#signal.throwIfAborted()
      await this.#begin()
      await this.#fetchHistory()
      await this.#report('live')
      for (;;) await this.#watch()
    } finally {
      detach()
      this.#signal.removeEventListener('abort', stop)
    }
  }

  #hear(note: () => void): void {
    note()
    this.#nap.end()
  }

  async #begin(): Promise<void> {
    for (const folder of this.#mirror.folders) await this.#catchUp(folder)
    await pushChanges(this.#mirror, null)
    await this.#pushFolders()
  }

  /** What is new in a folder, what left it and what was read. */
  async #catchUp(folder: MirrorFolder): Promise<void> {
    this.#signal.throwIfAborted()
    if (folder.is_mirrored) await this.#fileNew(folder)
    const hasLost = await checkFolder(this.#mirror, folder)
    this.#hasLost ||= hasLost
    if (folder.is_mirrored) this.#counts.set(folder.id, (await openFolder(this.#mirror, folder)).exists)
  }

  async #fileNew(folder: MirrorFolder): Promise<void> {
    for await (const batch of fetchNew(this.#mirror, folder, this.#signal)) await fileBatch(this.#mirror, batch)
  }

  /**
   * A batch of each folder in turn, so that the newest of all come first. One is filed and the next one read while the third is
   * fetched.
   */
  async #fetchHistory(): Promise<void> {
    let older: Promise<void> = Promise.resolve()
    let newer: Promise<void> = older
    try {
      for (let open = this.#withHistory(); open.length > 0; open = this.#withHistory()) {
        for (const folder of open) {
          this.#signal.throwIfAborted()
          const batch = await fetchHistory(this.#mirror, folder, this.#signal)
          const before = newer
          newer = fileBatch(this.#mirror, batch, before)
          newer.catch(() => {})
          await older
          older = before
        }
        await this.#report('syncing')
        // What is new does not wait for history, and a mailbox that gets mail all the time has its history fetched as well.
        if (this.#hasArrived) await this.#fileArrived()
        if (performance.now() - this.#polledAt < this.#pace.pollMs) continue
        await newer
        await this.#poll()
      }
      await newer
    } finally {
      // Whatever ended it: no batch is left behind that still writes.
      await newer.catch(() => {})
    }
  }

  #withHistory(): MirrorFolder[] {
    return this.#mirror.folders.filter(hasHistory)
  }

  #total(): number {
    return this.#mirror.folders.reduce((sum, { id }) => sum + (this.#counts.get(id) ?? 0), 0)
  }

  async #report(state: 'syncing' | 'live'): Promise<void> {
    if (state === 'syncing' && performance.now() - this.#progressAt < this.#pace.progressMs) return
    this.#progressAt = performance.now()
    if (state === 'live') this.#liveAt ??= performance.now()
    const { world, lease } = this.#mirror
    const progress = { state, total: this.#total() }
    const isOurs = await world.db.transact(MIRROR, tx => reportProgress(tx, lease, progress))
    if (!isOurs) throw new LeaseLost()
  }

  /** Waits in the inbox of the provider, which tells of changes in it; then does what there is to do. */
  async #watch(): Promise<void> {
    const { imap } = this.#mirror
    this.#signal.throwIfAborted()
    imap.throwIfOver()
    const inbox = this.#inbox()
    const pollInMs = this.#pollInMs()
    const isQuiet = !this.#hasArrived && !this.#hasChanged && !this.#foldersChangedHere && !this.#hasToPush
    if (isQuiet && pollInMs > 0) {
      await openFolder(this.#mirror, inbox)
      await imap.idle()
      await this.#nap.begin(pollInMs)
      this.#signal.throwIfAborted()
      imap.throwIfOver()
    }
    if (this.#hasArrived) await this.#fileArrived()
    if (this.#hasChanged) {
      this.#hasChanged = false
      await this.#catchUp(inbox)
    }
    await this.#push()
    if (this.#pollInMs() <= 0) await this.#poll()
    // A folder that was numbered anew is read again.
    await this.#fetchHistory()
  }

  async #fileArrived(): Promise<void> {
    this.#hasArrived = false
    await this.#fileNew(this.#inbox())
  }

  #inbox(): MirrorFolder {
    const inbox = this.#mirror.folders.find(({ role }) => role === 'inbox')
    if (!inbox) throw new ProviderFault('failed', 'The mailbox has no inbox.')
    return inbox
  }

  get #hasToPush(): boolean {
    return this.#changedHere.size > 0 || this.#mirror.foundAgain.size > 0
  }

  async #push(): Promise<void> {
    const { foundAgain } = this.#mirror
    const ids = [...this.#changedHere, ...foundAgain]
    this.#changedHere.clear()
    foundAgain.clear()
    // What was removed is among the changes whatever is asked for.
    const messageIds = ids.filter(id => id !== null)
    if (ids.length > 0) await pushChanges(this.#mirror, messageIds)
    if (this.#foldersChangedHere) await this.#pushFolders()
  }

  async #pushFolders(): Promise<void> {
    this.#foldersChangedHere = false
    // What is below a folder was renamed with it.
    if (await pushFolders(this.#mirror)) await this.#rounds.listAgain()
  }

  #pollInMs(): number {
    return this.#hasLost ? 0 : this.#polledAt + this.#pace.pollMs - performance.now()
  }

  async #poll(): Promise<void> {
    this.#polledAt = performance.now()
    this.#hasArrived = false
    this.#hasLost = false
    const mayBeMore = await this.#rounds.next()
    this.#hasLost ||= mayBeMore
    await this.#push()
    // What waited for the end of a legal hold, which nobody tells us of.
    if (await hasRemovals(this.#mirror.world.db, this.#mirror.lease.inboxId)) await pushChanges(this.#mirror, [])
    await this.#pushFolders()
    // Both sides are the same now, which the connection says, and the lease is still ours.
    await transactMirror(this.#mirror, async () => {})
  }
}
