// The bytes that go on the wire: the stored source, the recipient's own unsubscribe link, and the DKIM signature over
// the final result. Large bodies are fetched right before they are sent, and few at a time.
import assert from 'node:assert/strict'
import type { SigningKeys } from '../../identity/domains/signing-keys.ts'
import { signDkim } from '../../mail/dkim/sign.ts'
import { Signers } from './signers.ts'
import { prependLines } from '../../mail/mime/headers.ts'
import { ByteBudget } from '../../platform/fairness/byte-budget.ts'
import type { Db } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { personalise } from '../messages/unsubscribe-link.ts'
import { SMALL_BYTES_MAX } from '../messages/limits.ts'
import { asBuffer, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import { rememberWireForm } from '../../smtp/dot-stuff.ts'
import { findBodyPart, listMessagesToSend, type MessageToSend } from './queries.ts'
import type { FinishedSource, UnfinishedSource } from './source-thread.ts'

/** All that delivery asks of them. */
export type DomainKeys = Pick<SigningKeys, 'keyOf'>

/**
 * Sources that the door of a message keeps, under the id of the message: stored once, they are no bodies besides. Delivery
 * reads them by what that door lends it.
 */
export interface KeptSources {
  /** Those that there are. */
  list(db: Db, messageIds: readonly string[]): Promise<{ id: string; source: Buffer }[]>
  /** In base64. Null when it is gone. */
  findPart(db: Db, messageId: string, part: { start: number; bytes: number }): Promise<string | null>
}

/** Larger bodies are fetched one at a time, right before they are sent. */
const BODY_BYTES_IN_CLAIM = 64 * 1024
/** Of bodies too large for a claim, in memory at once. */
const LARGE_BYTES_MAX = 112 * 1024 * 1024

interface ReadyMessage {
  source: Buffer
  returnPathDomain: string
}

/** Memory that is reserved for a message while it is being sent. */
export interface Reservation {
  release(): void
}

/** The recipients of one large message that use its bytes together. */
interface Shared {
  granted: Promise<void>
  /** Null while it waits for memory. */
  release: (() => void) | null
  users: number
  ready: Promise<ReadyMessage | null> | null
}

export class Sources {
  readonly #world: World
  readonly #keys: DomainKeys
  readonly #kept: KeptSources
  readonly #signers = new Signers()
  readonly #large = new ByteBudget(LARGE_BYTES_MAX)
  /** Large messages that are being sent, or that wait for memory. */
  readonly #shared = new WeakMap<MessageToSend, Shared>()
  /** Lives as long as the message of one claim does. */
  readonly #finished = new WeakMap<MessageToSend, Promise<ReadyMessage>>()

  constructor(world: World, { keys, kept }: { keys: DomainKeys; kept: KeptSources }) {
    this.#world = world
    this.#keys = keys
    this.#kept = kept
  }

  async close(): Promise<void> {
    await this.#signers.close()
  }

  /** The messages of a claim, with the bodies that are small enough to hold many of. */
  async listMessages(ids: readonly string[]): Promise<MessageToSend[]> {
    const { db } = this.#world
    const messages = await listMessagesToSend(db, ids, BODY_BYTES_IN_CLAIM)
    const lacking = messages.filter(
      each => each.source === null && !each.is_sandbox && each.size <= BODY_BYTES_IN_CLAIM,
    )
    if (lacking.length === 0) return messages
    const kept = await this.#kept.list(
      db,
      lacking.map(({ id }) => id),
    )
    const sources = new Map(kept.map(({ id, source }) => [id, source]))
    return messages.map(each => ({ ...each, source: each.source ?? sources.get(each.id) ?? null }))
  }

  /** Memory for a large message, or null when there is none now. */
  tryReserve(message: MessageToSend): Reservation | null {
    if (message.has_unsubscribe) {
      const release = this.#large.tryAcquire(bytesOf(message), message.account_id)
      return release && { release }
    }
    const shared = this.#shared.get(message)
    if (shared) return shared.release && this.#use(message, shared)
    const release = this.#large.tryAcquire(bytesOf(message), message.account_id)
    if (!release) return null
    const first: Shared = { granted: Promise.resolve(), release, users: 0, ready: null }
    this.#shared.set(message, first)
    return this.#use(message, first)
  }

  /** Waits for memory for a large message. Rejects when the signal says so. */
  async reserve(message: MessageToSend, signal: AbortSignal): Promise<Reservation> {
    const acquire = () => this.#large.acquire(bytesOf(message), message.account_id, signal)
    if (message.has_unsubscribe) return { release: await acquire() }
    const shared = this.#shared.get(message) ?? this.#share(message, acquire())
    const reservation = this.#use(message, shared)
    await shared.granted
    return reservation
  }

  /**
   * Null when the body is gone: retention took it, and there is nothing left to send. A large message has reserved its
   * memory before.
   */
  async ready(message: MessageToSend, recipient: string): Promise<ReadyMessage | null> {
    if (message.source) {
      if (message.has_unsubscribe) return this.#finish(message, message.source, recipient)
      return this.#finishOnce(message, message.source)
    }
    if (message.has_unsubscribe) return this.#fetch(message, recipient)
    const shared = this.#shared.get(message)
    assert(shared, 'a large message has reserved its memory before it is read')
    return (shared.ready ??= this.#fetch(message, null))
  }

  /** Recipients of a large message share its bytes and its signature for as long as one of them is being sent to. */
  #share(message: MessageToSend, acquired: Promise<() => void>): Shared {
    const granted = acquired.then(
      release => void (shared.release = release),
      error => {
        this.#shared.delete(message)
        throw error
      },
    )
    const shared: Shared = { granted, release: null, users: 0, ready: null }
    this.#shared.set(message, shared)
    return shared
  }

  #use(message: MessageToSend, shared: Shared): Reservation {
    shared.users += 1
    return {
      release: () => {
        shared.users -= 1
        if (shared.users > 0) return
        this.#shared.delete(message)
        shared.release!()
      },
    }
  }

  async #fetch(message: MessageToSend, linkFor: string | null): Promise<ReadyMessage | null> {
    const { db } = this.#world
    const body = (await fetchBody(db, message, findBodyPart)) ?? (await fetchBody(db, message, this.#kept.findPart))
    return body && this.#finish(message, body, linkFor)
  }

  /** A signature costs milliseconds: recipients at many destinations share the one of their message. */
  #finishOnce(message: MessageToSend, stored: Buffer): Promise<ReadyMessage> {
    let finished = this.#finished.get(message)
    if (!finished) {
      finished = this.#finish(message, stored, null)
      this.#finished.set(message, finished)
    }
    return finished
  }

  /** With the link of this recipient, or as it is for all of them. */
  async #finish(message: MessageToSend, stored: Buffer, linkFor: string | null): Promise<ReadyMessage> {
    const { secrets, config, clock } = this.#world
    const about = { messageId: message.id, tenantId: message.tenant_id }
    const source = linkFor === null ? stored : personalise(stored, secrets, { ...about, recipient: linkFor })
    const key = message.domain_id === null ? null : await this.#keys.keyOf(message.domain_id)
    const returnPathDomain = key?.returnPathOk ? `bounce.${key.domain}` : config.RETURN_PATH_HOST
    const signing = key && { domain: key.domain, selector: key.selector, key: key.key, now: clock.now() }
    if (source.length > SMALL_BYTES_MAX) {
      const final = await finishInThread(this.#world.threads, { source, signing }, message.account_id)
      return { source: final, returnPathDomain }
    }
    if (!signing) return { source, returnPathDomain }
    const signature = await signDkim({ source, ...signing, sign: (data, by) => this.#signers.sign(data, by) })
    return { source: prependLines(source, signature), returnPathDomain }
  }
}

/** The driver doubles its buffer until a part fits; up to half a megabyte that is memory which the process has already. */
const PART_BYTES = 288 * 1024

/** Null when it is gone. */
async function fetchBody(db: Db, { id, size }: MessageToSend, findPart: KeptSources['findPart']) {
  let body: Buffer | null = null
  let bytes = 0
  for (let start = 0; start < size; start += PART_BYTES) {
    const part = await findPart(db, id, { start, bytes: PART_BYTES })
    if (part === null) return null
    body ??= Buffer.allocUnsafeSlow(size)
    bytes += body.write(part, start, 'base64')
  }
  // What was not written is not ours to send.
  return body && body.subarray(0, bytes)
}

/** The source and its signed copy. */
const bytesOf = ({ size }: MessageToSend): number => size * 2

const FINISHING: ThreadWork = {
  module: new URL('./source-thread.ts', import.meta.url),
  // As many as are in flight.
  queueMax: 1_000,
  timeoutMs: 30_000,
}

/**
 * The source of a large message as it is sent: on the main thread the signature over 36 MB and their form on the wire would
 * keep everybody waiting for a second. The source is given away, and must be in memory of its own.
 */
async function finishInThread(threads: ThreadPool, { source, signing }: UnfinishedSource, owner: string) {
  const finished = await threads.run<UnfinishedSource, FinishedSource>(FINISHING, {
    input: { source, signing },
    owner,
    bytes: source.length,
    transfer: [source.buffer as ArrayBuffer],
  })
  const { hasBareLineBreak, content } = finished
  const final = asBuffer(finished.source)
  rememberWireForm(final, { content: content ? asBuffer(content) : final, hasBareLineBreak })
  return final
}
