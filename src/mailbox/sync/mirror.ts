// What every part of a mirror works with: the inbox, its lease, the connection to the provider and the folders there.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { recordSynced, type Lease } from '../connections/mirror.ts'
import { lockInboxes, type LockedInbox } from '../inboxes/lock.ts'
import type { RemoteFolder } from './folder-queries.ts'
import type { Head } from '../imap/head.ts'
import type { ImapSession } from '../imap/session.ts'
import { updateLostUids } from './message-queries.ts'
import type { Recognised } from './recognise.ts'
import type { SourceReader } from './read-source.ts'
import type { MirrorDb } from './permits.ts'

export interface MirrorFolder extends RemoteFolder {
  /** As its path shows it. */
  name: string
  /** Between the levels of its path. Empty: it has no levels. */
  delimiter: string
  /** History from here on is fetched, though perhaps not filed yet. */
  pendingFrom: number
  /** UIDs of history that are next, the newest first. */
  queue: number[]
  /** Messages that were recognised in batches which are not filed yet: another copy is a message of its own. */
  claimed: Set<string>
}

export interface Mirror {
  world: Omit<World, 'db'> & { db: MirrorDb }
  reader: SourceReader
  imap: ImapSession
  lease: Lease
  accountId: string
  provider: 'google' | 'microsoft'
  /** Of the mailbox at the provider. */
  address: string
  connectedAt: Date
  /** Those that the provider has now. */
  folders: MirrorFolder[]
  /** Changes of ours that it would not take. */
  refused: Set<string>
  /** Messages that were found again. What was done here meanwhile is to be pushed; null stands for those that were removed. */
  foundAgain: Set<string | null>
}

/** A message that is about to be filed, or is known already. */
export interface Batch {
  folder: MirrorFolder
  /** Under which it was fetched. */
  uidValidity: number
  heads: readonly Head[]
  /** Those that were not fetched, because they are here already. */
  recognised: ReadonlyMap<number, Recognised>
  /** Of those that were fetched, by UID. */
  sources: ReadonlyMap<number, Buffer>
  /** It came while the mirror was there. */
  isNew: boolean
  nextUid: number
  fetchedFrom: number
  /** Gives back the memory that was reserved. */
  release: () => void
}

/** Another worker has the lease, the inbox was disconnected or paused, or there is a new grant. */
export class LeaseLost extends Error {
  constructor() {
    super('the lease of the connection is lost')
    this.name = 'LeaseLost'
  }
}

/** These are not found where they were. How many messages the mirror has at the provider falls with them. */
export async function loseMessages(
  tx: Tx,
  { lease }: Pick<Mirror, 'lease'>,
  { folderId, ...range }: { folderId: string } & Parameters<typeof updateLostUids>[2],
): ReturnType<typeof updateLostUids> {
  const lost = await updateLostUids(tx, folderId, range)
  if (lost.count > 0) await recordSynced(tx, lease, -lost.count)
  return lost
}

export const MIRROR = system('mailbox mirror')

/** A transaction under the lock of the inbox, and only while the lease is ours. `first` locks what comes before the inbox. */
export const transactMirror = <T>(
  { world, lease }: Pick<Mirror, 'world' | 'lease'>,
  recipe: (tx: Tx, inbox: LockedInbox) => Promise<T>,
  first: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<T> =>
  world.db.transact(MIRROR, async tx => {
    await first(tx)
    const [inbox] = await lockInboxes(tx, [lease.inboxId])
    if (!inbox || !(await recordSynced(tx, lease, 0))) throw new LeaseLost()
    return recipe(tx, inbox)
  })
