// Mail that is acknowledged: its source and its envelope are durable before anybody is told so. What comes at the same time
// shares a commit; accounts are served round robin, and a large mail goes alone.
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { markArrived } from '../../sending/queue/attempts.ts'
import { keyOf, type Key } from '../../sending/queue/keys.ts'
import { insertSources } from '../sources/store.ts'
import { insertArrivals, type ArrivalRow } from './queries.ts'
import { SMALL_BYTES } from './read-arrival.ts'
import { RecentSources } from './recent-sources.ts'

/** A mail as a client brought it. */
export interface BroughtMail {
  /** With our trace fields above it. */
  content: Buffer
  headBytes: number
  mailFrom: string
  clientIp: string
  helo: string
}

interface Arriving extends BroughtMail {
  /** Where the mail never left this installation: the submission that it came from. */
  submittedId: string | null
  inboxes: readonly Destination[]
}

interface Destination {
  inboxId: string
  accountId: string
  /** Of mail that never left this installation. */
  delivery?: Key
}

const BATCH_MAX = 200
const BATCH_BYTES_MAX = 4 * 1024 * 1024
const BY = system('receiving')

export class Arrivals {
  /** What was stored last, for the filing of it. */
  readonly recent = new RecentSources()
  readonly #world: World
  readonly #received: Batcher<Arriving, void>
  /** Apart: it locks rows of the queue, and other servers are not to wait for those. */
  readonly #local: Batcher<Arriving, void>

  constructor(world: World) {
    this.#world = world
    const options = {
      run: (mails: Arriving[]) => this.#store(mails),
      itemsMax: BATCH_MAX,
      slots: 3,
      weightMax: BATCH_BYTES_MAX,
      weightOf: (mail: Arriving) => mail.content.length,
      sharedBy: (mail: Arriving) => [mail.inboxes[0]!.accountId],
      takesHalf: true,
    }
    this.#received = new Batcher<Arriving, void>(options)
    this.#local = new Batcher<Arriving, void>(options)
  }

  /** Senders wait for their 250 in numbers. */
  get isBusy(): boolean {
    return this.#received.isBusy || this.#local.isBusy
  }

  /** Durable once it answers. */
  store(mail: Arriving): Promise<void> {
    return (mail.submittedId === null ? this.#received : this.#local).submit(mail)
  }

  async #store(mails: Arriving[]): Promise<void[]> {
    const stored = await this.#world.db.transact(BY, async tx => {
      const arriving = await withoutArrived(tx, mails)
      if (arriving.length === 0) return []
      const sources = arriving.map(({ content, headBytes }) => ({ id: newId(tx.now), content, headBytes }))
      insertSources(tx, sources)
      insertArrivals(
        tx,
        arriving.flatMap((mail, at) => arrivalsOf(mail, sources[at]!.id, tx.now)),
      )
      return sources
    })
    for (const { id, ...source } of stored) if (source.content.length <= SMALL_BYTES) this.recent.keep(id, source)
    this.#world.wakeups.hint('arrivals')
    return mails.map(() => undefined)
  }
}

/** Without what another process had stored before it died. */
async function withoutArrived(tx: Tx, mails: readonly Arriving[]): Promise<readonly Arriving[]> {
  const deliveries = mails.flatMap(({ inboxes }) => inboxes.flatMap(({ delivery }) => delivery ?? []))
  if (deliveries.length === 0) return mails
  const fresh = new Set((await markArrived(tx, deliveries)).map(keyOf))
  return (
    mails
      // Taken out of the set: under two leases, one that lapsed and one that was taken since, it may be in this batch twice.
      .map(mail => ({
        ...mail,
        inboxes: mail.inboxes.filter(({ delivery }) => !delivery || fresh.delete(keyOf(delivery))),
      }))
      .filter(({ inboxes }) => inboxes.length > 0)
  )
}

/** One for each account, so that the work for one never waits for that of another. */
function arrivalsOf(mail: Arriving, sourceId: string, now: Date): ArrivalRow[] {
  const byAccount = Map.groupBy(mail.inboxes, inbox => inbox.accountId)
  return [...byAccount].map(([accountId, inboxes]) => ({
    id: newId(now),
    account_id: accountId,
    source_id: sourceId,
    size: mail.content.length,
    inbox_ids: [...new Set(inboxes.map(inbox => inbox.inboxId))],
    mail_from: mail.mailFrom,
    client_ip: mail.clientIp,
    helo: mail.helo,
    submitted_id: mail.submittedId,
  }))
}
