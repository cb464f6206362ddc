// Hints that there may be something to do: after a commit the loops of this process, and over LISTEN/NOTIFY those of
// the others, look sooner than their next poll. A hint may be lost; polling is the truth. Never sent inside a
// transaction, where NOTIFY would take a server-wide lock at commit.
import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export type Topic = 'journal' | 'audit' | 'deliveries' | 'suspensions' | 'attempts' | 'backlogs' | 'alerts'

const CHANNEL = 'sluice'
/** At most this often per topic across processes: a NOTIFY is a commit of its own. */
const NOTIFY_EVERY_MS = 50
const RECONNECT_MS = 1_000

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
    await this.#client?.end().catch(() => {})
    await this.#listening
  }

  async #listenForEver(url: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const client = new pg.Client({
        connectionString: url,
        application_name: 'sluice-wakeups',
        keepAlive: true,
        pipeline: true,
      })
      const gone = new Promise<void>(resolve => client.once('end', resolve))
      client.on('error', () => {})
      client.on('notification', ({ payload }) => this.#emitter.emit(payload as Topic))
      try {
        await client.connect()
        await client.query(`listen ${CHANNEL}`)
        this.#client = client
        // Whatever was hinted while we were away is looked for now.
        for (const topic of this.#emitter.eventNames()) this.#emitter.emit(topic)
        await gone
      } catch {
        await client.end().catch(() => {})
      }
      this.#client = null
      await delay(RECONNECT_MS, null, { signal: this.#stopping.signal }).catch(() => {})
    }
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
