// The streams that are open in this process: their number is bounded, their leases are renewed, and those whose key or
// inbox is no more are ended within seconds.
import { listLiveKeys } from '../../identity/api-keys/live.ts'
import { Batcher } from '../../platform/batcher.ts'
import { atOnce } from '../../platform/fairness/at-once.ts'
import { Tally } from '../../platform/fairness/tally.ts'
import type { StreamChannel } from '../../platform/http/streams/channel.ts'
import { runForNobody } from '../../platform/owner.ts'
import { refuse } from '../../platform/refusal.ts'
import { Nap } from '../../platform/work/nap.ts'
import type { World } from '../../platform/world.ts'
import { listLiveInboxes } from '../inboxes/find.ts'
import { UnreadBytes } from './unread-bytes.ts'
import { JournalReader } from './journal-reader.ts'
import { StreamSlots } from './slots.ts'
import { listBounds, type Bounds } from './queries.ts'
import { InboxStream, missedReads, type StreamOrder, type StreamShare } from './stream.ts'

/** An idle stream takes about 50 KB. */
const STREAMS_MAX = 10_000
/**
 * After a restart all come back at once. They wait here and not for connections to the database, which others need and
 * which are waited for no longer than a moment.
 */
const OPENINGS = { permits: 64, perOwner: 16, waitMsMax: 60_000, retryAfterSeconds: 5 }
/** A key that was revoked ends its streams within 5 s. */
const LOOK_MS = 2_000
/** A third of their lease. */
const RENEW_MS = 5_000

export class OpenStreams {
  readonly #world: World
  readonly #share: StreamShare
  readonly #open = new Set<InboxStream>()
  readonly #byAccount = new Tally()
  readonly slots: StreamSlots
  readonly opening = atOnce({ ...OPENINGS, refusal: 'Too many streams of this account are being opened.' })
  /** By inbox. */
  readonly bounds: Batcher<string, Bounds>
  readonly #nap = new Nap()
  #looking: Promise<void> | null = null
  #renewedAt = 0

  constructor(world: World) {
    this.#world = world
    this.slots = new StreamSlots(world)
    this.bounds = new Batcher({ run: inboxIds => listBounds(world.db, inboxIds), itemsMax: OPENINGS.permits, slots: 2 })
    this.#share = { world, reader: new JournalReader(world), unread: new UnreadBytes(), reads: missedReads() }
    world.metrics.gauge('sluice_streams_open', 'Streams of inboxes open in this process', [], gauge =>
      gauge.set(this.#open.size),
    )
  }

  /** An account has as many as are free at the most: one has half of all, the next a quarter, and nobody has the last. */
  requireCapacity(accountId: string): void {
    if (this.#byAccount.of(accountId) < STREAMS_MAX - this.#open.size) return
    throw refuse('unavailable', 'Too many streams are open here. Try again later.', { retryAfterSeconds: 10 })
  }

  begin(order: StreamOrder, channel: StreamChannel): void {
    const stream = new InboxStream(this.#share, order, channel)
    this.#open.add(stream)
    this.#byAccount.add(stream.accountId)
    this.#looking ??= runForNobody(() => this.#look())
    void stream.run().finally(() => {
      this.#open.delete(stream)
      this.#byAccount.add(stream.accountId, -1)
      this.slots.release(order.slot)
      if (this.#open.size === 0) this.#nap.end()
    })
  }

  /** After the server has ended them all. */
  async close(): Promise<void> {
    await Promise.all([this.#share.reader.settle(), this.slots.settle(), this.#looking])
  }

  /** While there are any. */
  async #look(): Promise<void> {
    this.#renewedAt = performance.now()
    while (this.#open.size > 0) {
      // A database that is away ends no stream: nothing can be revoked while it is.
      await this.#endForbidden().catch(err => this.#world.log.debug({ err }, 'keys of streams were not looked up'))
      if (performance.now() - this.#renewedAt >= RENEW_MS) {
        await this.#renew().catch(err => this.#world.log.debug({ err }, 'slots of streams were not renewed'))
      }
      if (this.#open.size > 0) await this.#nap.begin(LOOK_MS)
    }
    this.#looking = null
  }

  async #endForbidden(): Promise<void> {
    const streams = [...this.#open]
    const { db, clock } = this.#world
    const keyIds = [...new Set(streams.map(({ order }) => order.caller.keyId))]
    const inboxIds = [...new Set(streams.map(({ order }) => order.inboxId))]
    const [keys, inboxes] = await Promise.all([
      listLiveKeys(db, { ids: keyIds, now: clock.now() }),
      listLiveInboxes(db, inboxIds),
    ])
    const prefixes = new Map(keys.map(({ id, prefix }) => [id, prefix]))
    const live = new Set(inboxes.map(({ id }) => id))
    for (const stream of streams) {
      const { caller, inboxId } = stream.order
      if (prefixes.get(caller.keyId) !== caller.prefix) stream.end('forbidden')
      else if (!live.has(inboxId)) stream.end('gone')
    }
  }

  async #renew(): Promise<void> {
    const streams = new Map([...this.#open].map(stream => [stream.order.slot, stream]))
    const lost = await this.slots.renew([...streams.keys()])
    this.#renewedAt = performance.now()
    // Its lease has lapsed and another stream may have the slot: a sixth is one too many.
    for (const slot of lost) streams.get(slot)!.end('failed')
  }
}
