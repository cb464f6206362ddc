// Reads the sources of a mirrored mailbox in threads, a few of each session at a time, within one budget of memory.
import { setTimeout as delay } from 'node:timers/promises'
import { receivedResults, UNKNOWN, type Receiver } from '../../mail/authentication/received-results.ts'
import type { Refused } from '../../mail/mime/parsed-mail.ts'
import { ByteBudget } from '../../platform/fairness/byte-budget.ts'
import type { World } from '../../platform/world.ts'
import type { ReadArrival } from '../inbound/file.ts'
import { MimeReader } from '../inbound/mime-reader.ts'
import type { ReadMessage } from '../inbound/mime-thread.ts'
import { isOurs, readOf } from '../inbound/read-arrival.ts'
import { SOURCE_BYTES_MAX } from '../imap/session.ts'
import type { Permits } from './permits.ts'

/** Of all sessions together, with what is read in them; one account has half of it at most. */
const BYTES_MAX = 192 * 1024 * 1024
/** The source, what is read in it, and what is on its way into the database. */
const COPIES = 3
/** Jobs of one account that may wait for a thread. */
const WAITING_MAX = 2_000
const AT_ONCE = 4
const BUSY_MS = 50
const BUSY_TRIES_MAX = 200
/** Threads that died with it: from then on it is filed without being read. */
const CRASHES_MAX = 3

interface Unread {
  sourceId: string
  accountId: string
  receivedAt: Date
  receiver: Receiver
  content: Buffer
  /** As the provider has it: larger than the content where only the first lines were fetched. */
  size: number
}

export class SourceReader {
  readonly #mime: MimeReader
  readonly #budget = new ByteBudget(BYTES_MAX)
  readonly #permits: Permits

  constructor({ threads }: World, permits: Permits) {
    this.#permits = permits
    this.#mime = new MimeReader(threads, { queueMax: WAITING_MAX })
  }

  /** Waits for memory; answers how it is given back. */
  reserve(bytes: number, accountId: string, signal: AbortSignal): Promise<() => void> {
    return this.#budget.acquire(bytes * COPIES, accountId, signal)
  }

  /** In the same order. */
  readAll(accountId: string, mails: readonly Unread[]): Promise<ReadArrival[]> {
    return this.#permits.reading(accountId, () => this.#readAll(mails))
  }

  async #readAll(mails: readonly Unread[]): Promise<ReadArrival[]> {
    const read: ReadArrival[] = []
    let next = 0
    const readOn = async (): Promise<void> => {
      for (let at = next++; at < mails.length; at = next++) read[at] = await this.#read(mails[at]!)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, readOn))
    return read
  }

  async #read({ sourceId, accountId, receivedAt, receiver, content, size }: Unread): Promise<ReadArrival> {
    const auth = receivedResults(content, receiver) ?? UNKNOWN
    const message = size > SOURCE_BYTES_MAX ? TOO_LARGE : await this.#parse(content, accountId)
    const about = { source_id: sourceId, account_id: accountId, received_at: receivedAt }
    // The field of the provider stands in the source already.
    const understood = { auth, results: () => '', message }
    return readOf(about, { ...understood, source: { content, headBytes: 0 } })
  }

  async #parse(content: Buffer, accountId: string): Promise<ReadMessage | Refused> {
    let crashes = 0
    for (let tries = 1; ; tries++) {
      const message = await this.#mime.readMessage(content, accountId)
      if (message.kind !== 'refused' || !isOurs(message.reason)) return message
      if (message.reason === 'crashed' && ++crashes === CRASHES_MAX) return message
      if (message.reason === 'closed' || tries === BUSY_TRIES_MAX) throw new Error('there was no thread to read a mail')
      await delay(BUSY_MS)
    }
  }
}

const TOO_LARGE: Refused = { kind: 'refused', reason: 'too_large' }
