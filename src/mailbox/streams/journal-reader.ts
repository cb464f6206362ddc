// The one reader of the journal in this process, for all streams that are open here. It reads while there are any, and
// gives each event of an inbox to the streams that are attached to it.
import { setImmediate as yieldToEventLoop, setTimeout as delay } from 'node:timers/promises'
import { FrameBatch } from '../../platform/http/streams/frames.ts'
import { findNewest } from '../../platform/journal/read.ts'
import { runForNobody } from '../../platform/owner.ts'
import { Nap } from '../../platform/work/nap.ts'
import type { World } from '../../platform/world.ts'
import { frameOf } from './present.ts'
import { listNew, type Range, type StoredEvent } from './queries.ts'

/** A hint comes within milliseconds of an append; this finds what was appended while hints were lost. */
const POLL_MS = 1_000
/** After a round that was not full, so that more can gather: one round for each append would cost more than it brings. */
const REST_MS = 20
const RETRY_MS = 500
/** Read at once: they are in memory until they are written to the streams. */
const IDS_MAX = 1_000
/** A batch for thousands of streams is written in slices; requests of others go between them. */
const SLICE_MS = 5

/** A stream that has read everything up to where it was attached. */
interface Attached {
  /** Skips what it has had already. */
  take(batch: FrameBatch): void
}

export class JournalReader {
  readonly #world: World
  readonly #attached = new Map<string, Set<Attached>>()
  readonly #nap = new Nap()
  #joined = 0
  #position = 0
  #beginning: Promise<void> | null = null
  #reading: Promise<void> = Promise.resolve()

  constructor(world: World) {
    this.#world = world
  }

  /** Once it is answered, `position` moves with the journal until as many have left as have joined. */
  async join(): Promise<void> {
    this.#joined += 1
    // The reader works for all of them: its statements are no account's.
    this.#beginning ??= runForNobody(() => this.#begin())
    try {
      await this.#beginning
    } catch (error) {
      this.#joined -= 1
      this.#beginning = null
      throw error
    }
  }

  leave(): void {
    this.#joined -= 1
    if (this.#joined === 0) this.#nap.end()
  }

  /** Events up to this id are given, or being given, to the streams that were attached before. */
  get position(): number {
    return this.#position
  }

  /** For a stream that has read up to `position`. What comes after it, and nothing else, is given to the stream. */
  attach(inboxId: string, stream: Attached): void {
    const streams = this.#attached.get(inboxId) ?? new Set()
    this.#attached.set(inboxId, streams.add(stream))
  }

  detach(inboxId: string, stream: Attached): void {
    const streams = this.#attached.get(inboxId)
    streams?.delete(stream)
    if (streams?.size === 0) this.#attached.delete(inboxId)
  }

  /** When nobody is left and the last round has ended. */
  async settle(): Promise<void> {
    await this.#reading
  }

  async #begin(): Promise<void> {
    this.#position = await findNewest(this.#world.db)
    this.#reading = this.#read()
  }

  async #read(): Promise<void> {
    const forget = this.#world.wakeups.on('journal', () => this.#nap.end())
    while (this.#joined > 0) {
      try {
        const read = await this.#advance()
        if (read === 0) await this.#nap.begin(POLL_MS)
        else if (read < IDS_MAX) await delay(REST_MS)
      } catch (err) {
        this.#world.log.debug({ err }, 'the journal could not be read for streams and will be tried again')
        await delay(RETRY_MS)
      }
    }
    forget()
    this.#beginning = null
  }

  /** Answers by how many ids. */
  async #advance(): Promise<number> {
    const after = this.#position
    const upTo = Math.min(await findNewest(this.#world.db), after + IDS_MAX)
    if (upTo <= after) return 0
    // From here on, within one turn: a stream that is attached later has read up to the new position by itself.
    const inboxIds = [...this.#attached.keys()]
    this.#position = upTo
    if (inboxIds.length > 0) await this.#deliver(await this.#readUntilAnswered({ inboxIds, after, upTo }))
    return upTo - after
  }

  /** The position has moved already, so these events must be read now or never. */
  async #readUntilAnswered(range: Range & { inboxIds: readonly string[] }): Promise<StoredEvent[]> {
    for (;;) {
      try {
        return await listNew(this.#world.db, range)
      } catch (err) {
        if (this.#joined === 0) return []
        this.#world.log.debug({ err }, 'events of inboxes could not be read and will be tried again')
        await delay(RETRY_MS)
      }
    }
  }

  async #deliver(events: readonly StoredEvent[]): Promise<void> {
    let began = performance.now()
    for (const [inboxId, own] of Map.groupBy(events, event => event.inbox_id)) {
      const batch = new FrameBatch(own.map(frameOf))
      for (const stream of this.#attached.get(inboxId) ?? []) {
        stream.take(batch)
        if (performance.now() - began < SLICE_MS) continue
        await yieldToEventLoop()
        began = performance.now()
      }
    }
  }
}
