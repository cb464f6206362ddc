// Tells the sessions of this process which messages and folders of their inboxes were changed here: one reader of the journal
// for all of them. A session compares everything when it begins, so it needs to hear only of what comes after.
import { setTimeout as delay } from 'node:timers/promises'
import { findNewest } from '../../platform/journal/read.ts'
import type { Worker } from '../../platform/work/worker.ts'
import type { World } from '../../platform/world.ts'
import { listChanged } from './local-change-queries.ts'

/** So that more can gather: a person does not see the difference at the provider. */
const REST_MS = 200
const IDS_MAX = 5_000

type Take = (changed: { messageIds: string[]; hasFolders: boolean }) => void

export class LocalChanges {
  readonly #world: World
  readonly #takers = new Map<string, Take>()
  #position: number | null = null
  #readAt = -Infinity

  constructor(world: World) {
    this.#world = world
  }

  get worker(): Worker {
    return {
      kind: 'due',
      name: 'mirror-local-changes',
      wakeOn: 'journal',
      pollSeconds: 2,
      run: (_world, signal) => this.#readNext(signal),
    }
  }

  /** Once it is answered, every later change is told. Answers how to end it. */
  async attach(inboxId: string, take: Take): Promise<() => void> {
    this.#takers.set(inboxId, take)
    if (this.#position === null) {
      const newest = await findNewest(this.#world.db)
      this.#position ??= newest
    }
    return () => {
      if (this.#takers.get(inboxId) === take) this.#takers.delete(inboxId)
      if (this.#takers.size === 0) this.#position = null
    }
  }

  /** Answers by how many ids it went on. */
  async #readNext(signal: AbortSignal): Promise<number> {
    const rest = this.#readAt + REST_MS - performance.now()
    if (rest > 0) await delay(rest, null, { signal }).catch(() => {})
    const after = this.#position
    if (after === null || signal.aborted) return 0
    this.#readAt = performance.now()
    const upTo = Math.min(await findNewest(this.#world.db), after + IDS_MAX)
    if (upTo <= after) return 0
    const changed = await listChanged(this.#world.db, { inboxIds: [...this.#takers.keys()], after, upTo })
    for (const [inboxId, own] of Map.groupBy(changed, each => each.inbox_id)) {
      const messageIds = own.flatMap(({ message_id }) => message_id ?? [])
      this.#takers.get(inboxId)?.({ messageIds, hasFolders: messageIds.length < own.length })
    }
    if (this.#position === after) this.#position = upTo
    return upTo - after
  }
}
