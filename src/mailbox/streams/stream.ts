// One open stream: it joins the reader of the journal, reads what it has missed up to the reader's position, and is attached
// there in the same turn of the event loop. So nothing is skipped and nothing comes twice.
import { setTimeout as delay } from 'node:timers/promises'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import type { StreamChannel } from '../../platform/http/streams/channel.ts'
import { FrameBatch, type Frame } from '../../platform/http/streams/frames.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { UnreadBytes } from './unread-bytes.ts'
import type { JournalReader } from './journal-reader.ts'
import { frameOf } from './present.ts'
import { listMissed, type SlotAsked } from './queries.ts'

const PING_MS = 25_000
/** A reader that would be further behind is cut. It resumes from the last id it has. */
const BACKLOG_BYTES_MAX = 1024 * 1024
/** The first page of what was missed is small: a client that reads nothing costs no more. */
const PAGE = { first: 50, max: 2_000, bytes: 512 * 1024 }
/** A page that was not taken by then: the client does not read. */
const STALL_MS_MAX = 10_000
/** Pages being read at once, of all streams of this process and of one account. */
const READS = { permits: 4, perOwner: 2, waitMsMax: 60_000 }

/** What all streams of this process share. */
export interface StreamShare {
  world: World
  reader: JournalReader
  unread: UnreadBytes
  reads: Semaphore
}

export const missedReads = (): Semaphore => new Semaphore(READS)

export interface StreamOrder {
  caller: KeyPrincipal
  inboxId: string
  slot: SlotAsked
  /** Ids up to this one are not sent. */
  position: number
  /** Sent first, where there is something to tell. */
  reset: Frame | null
}

interface Page {
  batch: FrameBatch | null
  /** Events up to this id are in it, or are none of the inbox. */
  end: number
}

export class InboxStream {
  readonly order: StreamOrder
  readonly #share: StreamShare
  readonly #channel: StreamChannel
  #position: number
  #pageMax = PAGE.first
  #pings: NodeJS.Timeout | null = null
  #wake = (): void => {}

  constructor(share: StreamShare, order: StreamOrder, channel: StreamChannel) {
    this.order = order
    this.#share = share
    this.#channel = channel
    this.#position = order.position
  }

  get accountId(): string {
    return this.order.caller.reach.accountId
  }

  get backlogBytes(): number {
    return this.#channel.backlogBytes
  }

  /** Until the stream is closed by either side. */
  async run(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#channel.onClose(resolve))
    this.#pings = setInterval(() => this.#channel.ping(), PING_MS).unref()
    try {
      await this.#follow(closed)
    } catch (err) {
      this.#share.world.log.warn({ err, inbox_id: this.order.inboxId }, 'a stream failed')
      this.end('failed')
      await closed
    } finally {
      clearInterval(this.#pings)
      this.#share.unread.forget(this)
    }
  }

  take(batch: FrameBatch): void {
    if (batch.lastId <= this.#position) return
    if (this.backlogBytes + batch.bytes > BACKLOG_BYTES_MAX) return this.#fallBehind()
    const isNew = batch.firstId > this.#position
    this.#send(isNew ? batch : new FrameBatch(batch.frames.filter(({ id }) => id > this.#position)))
    this.#position = batch.lastId
  }

  end(why: Parameters<StreamChannel['end']>[0]): void {
    this.#channel.end(why)
  }

  cut(): void {
    this.#share.world.log.info({ inbox_id: this.order.inboxId, bytes: this.backlogBytes }, 'a stream was too slow')
    this.#channel.cut()
  }

  async #follow(closed: Promise<void>): Promise<void> {
    const { reader } = this.#share
    const { inboxId, reset } = this.order
    if (reset) this.#send(new FrameBatch([reset]))
    await reader.join()
    try {
      while (!this.#channel.isClosed) {
        await this.#catchUp()
        const behind = new Promise<void>(resolve => (this.#wake = resolve))
        // Within the turn in which the position was compared.
        if (!this.#channel.isClosed) reader.attach(inboxId, this)
        await Promise.race([behind, closed])
      }
      await closed
    } finally {
      reader.detach(inboxId, this)
      reader.leave()
    }
  }

  /** One that was not behind before has only met a burst: it reads this from the journal, at its own speed. */
  #fallBehind(): void {
    if (this.backlogBytes > BACKLOG_BYTES_MAX / 2) return this.cut()
    this.#share.reader.detach(this.order.inboxId, this)
    this.#wake()
  }

  /** Up to where the reader is. The next page is read while the client takes this one. */
  async #catchUp(): Promise<void> {
    const { reader } = this.#share
    let ahead: Promise<Page> | null = null
    while (!this.#channel.isClosed && this.#position < reader.position) {
      const { batch, end }: Page = await (ahead ?? this.#readPage(this.#position))
      ahead = end < reader.position ? this.#readPage(end) : null
      // Nobody waits for it when the client goes away meanwhile.
      ahead?.catch(() => {})
      if (batch) this.#send(batch)
      this.#position = end
      await this.#drained()
    }
  }

  async #readPage(after: number): Promise<Page> {
    const { reads, reader, world } = this.#share
    const { inboxId } = this.order
    const [limit, upTo] = [this.#pageMax, reader.position]
    const missed = await reads.run(this.accountId, tooMany, () => listMissed(world.db, { inboxId, after, upTo, limit }))
    if (missed.length === 0) return { batch: null, end: upTo }
    const batch = new FrameBatch(missed.map(frameOf))
    this.#pageMax = nextPage(limit, batch.bytes / missed.length)
    return { batch, end: missed.length < limit ? upTo : batch.lastId }
  }

  async #drained(): Promise<void> {
    const waited = new AbortController()
    const late = delay(STALL_MS_MAX, 'late', { signal: waited.signal, ref: false }).catch(() => null)
    if ((await Promise.race([this.#channel.drained(), late])) === 'late') this.cut()
    waited.abort()
  }

  #send(batch: FrameBatch): void {
    this.#channel.send(batch)
    this.#share.unread.note(this)
  }
}

/** Each page that was taken doubles the next, as far as bytes allow. */
const nextPage = (limit: number, bytesPerEvent: number): number =>
  Math.max(1, Math.min(limit * 2, PAGE.max, Math.floor(PAGE.bytes / bytesPerEvent)))

const tooMany = () => refuse('unavailable', 'Too many streams of this account are catching up.')
