// Hints that there may be something to do: after a commit the workers of this process, and over LISTEN/NOTIFY those of
// the others, look sooner than their next poll. A hint may be lost; polling is the truth. Never sent inside a
// transaction, where NOTIFY would take a server-wide lock at commit.
import { EventEmitter } from 'node:events'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { findPooling } from './pooling.ts'

export type Topic =
  | 'journal'
  | 'audit'
  | 'deliveries'
  | 'suspensions'
  | 'attempts'
  | 'backlogs'
  | 'alerts'
  | 'arrivals'
  | 'attachments'
  | 'removals'
  | 'drafts'
  | 'connections'

const CHANNEL = 'sluice'
/** At most this often per topic across processes: a NOTIFY is a commit of its own. */
const NOTIFY_EVERY_MS = 50
const RECONNECT_MS = 1_000
const CONNECT_MS_MAX = 5_000
const END_MS_MAX = 1_000

export class Wakeups {
  readonly #emitter = new EventEmitter().setMaxListeners(0)
  readonly #pending = new Set<Topic>()
  readonly #stopping = new AbortController()
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #listening: Promise<void> | null = null

  /** Tells everybody, here at once and elsewhere soon. */
  hint(topic: Topic): void {
    this.#emitter.emit(topic)
    if (!this.#client) return
    this.#pending.add(topic)
    this.#timer ??= setTimeout(() => this.#notify(), NOTIFY_EVERY_MS)
  }

  /** Tells this process only: for what no other could do instead. */
  nudge(topic: Topic): void {
    this.#emitter.emit(topic)
  }

  on(topic: Topic, listener: () => void): () => void {
    this.#emitter.on(topic, listener)
    return () => void this.#emitter.off(topic, listener)
  }

  /** Keeps one connection listening, for ever, until `close`. */
  listen(url: string): void {
    this.#listening = this.#listenForEver(url)
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    if (this.#timer) clearTimeout(this.#timer)
    await this.#listening
  }

  async #listenForEver(url: string): Promise<void> {
    const { signal } = this.#stopping
    const stopped = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    while (!signal.aborted) {
      const client = new pg.Client({
        connectionString: url,
        application_name: 'sluice-wakeups',
        connectionTimeoutMillis: CONNECT_MS_MAX,
        keepAlive: true,
        pipeline: true,
      })
      // Raced: a client that is ended while it connects never says whether it has connected.
      await Promise.race([this.#listenWith(client), stopped]).catch(() => {})
      this.#client = null
      await end(client)
      await delay(RECONNECT_MS, null, { signal }).catch(() => {})
    }
  }

  /** Until the connection is gone. */
  async #listenWith(client: pg.Client): Promise<void> {
    const gone = new Promise<void>(resolve => client.once('end', resolve))
    client.on('error', () => {})
    client.on('notification', ({ payload }) => this.#emitter.emit(payload as Topic))
    await client.connect()
    // Through a pooler nothing would be heard, and the session that listens would be another client's next. We tell the
    // others all the same; what they tell us is found by polling.
    const { isPooled } = await findPooling(client)
    if (!isPooled) await client.query(`listen ${CHANNEL}`)
    if (this.#stopping.signal.aborted) return
    this.#client = client
    // Whatever was hinted while we were away is looked for now.
    for (const topic of this.#emitter.eventNames()) this.#emitter.emit(topic)
    await gone
  }

  #notify(): void {
    this.#timer = null
    const topics = [...this.#pending]
    this.#pending.clear()
    // Lost when the connection is: the others find the work at their next poll.
    this.#client
      ?.query('select pg_notify($1, topic) from unnest($2::text[]) as topic', [CHANNEL, topics])
      .catch(() => {})
  }
}

/** A database that does not answer must not keep the process: the connection is cut when saying goodbye takes too long. */
async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), delay(END_MS_MAX, null, { ref: false })])
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
  stream.destroy()
}
