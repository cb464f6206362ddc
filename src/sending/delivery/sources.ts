// The bytes that go on the wire: the stored source, the recipient's own unsubscribe link, and the DKIM signature over
// the final result. Large bodies are fetched when their turn comes, and few at a time.
import type { KeyObject } from 'node:crypto'
import { signDkim } from '../../mail/dkim.ts'
import { Signers } from '../../mail/signers.ts'
import { prependLines } from '../../mail/headers.ts'
import { ByteBudget } from '../../platform/byte-budget.ts'
import type { Db } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { personalise } from '../messages/unsubscribe-link.ts'
import { LARGE_SOURCE_BYTES, LargeSources } from './large-sources.ts'
import { findBodyPart, type MessageToSend } from './queries.ts'

export interface SigningKey {
  domain: string
  selector: string
  key: KeyObject
  /** The return path under the sender's own domain is published. */
  returnPathOk: boolean
}

export interface SigningKeys {
  keyOf(domainId: string): Promise<SigningKey | null>
}

/** Of bodies too large for a claim, held in memory at once: the source and its signed copy. */
const LARGE_BYTES_MAX = 160 * 1024 * 1024

export interface ReadyMessage {
  source: Buffer
  returnPathDomain: string
}

export class Sources {
  readonly #world: World
  readonly #keys: SigningKeys
  readonly #signers = new Signers()
  readonly #largeSources = new LargeSources()
  readonly #large = new ByteBudget(LARGE_BYTES_MAX)
  /** Large messages that are being sent, and to how many receivers. */
  readonly #shared = new WeakMap<MessageToSend, { ready: ReturnType<Sources['ready']>; users: number }>()
  /** Lives as long as the message of one claim does. */
  readonly #finished = new WeakMap<MessageToSend, ReturnType<Sources['ready']>>()

  constructor(world: World, keys: SigningKeys) {
    this.#world = world
    this.#keys = keys
  }

  async close(): Promise<void> {
    await Promise.all([this.#signers.close(), this.#largeSources.close()])
  }

  /**
   * Null when the body is gone: retention took it, and there is nothing left to send. `release` is called when the
   * source is no longer needed.
   */
  async ready(message: MessageToSend, n: number): Promise<(ReadyMessage & { release: () => void }) | null> {
    if (message.source) {
      if (message.has_unsubscribe) return this.#finish(message, message.source, n, () => {})
      return this.#finishOnce(message, message.source)
    }
    return message.has_unsubscribe ? this.#fetch(message, n) : this.#share(message)
  }

  /** Recipients of a large message share its bytes and its signature for as long as one of them is being sent to. */
  async #share(message: MessageToSend): ReturnType<Sources['ready']> {
    const shared = this.#shared.get(message) ?? { ready: this.#fetch(message, 0), users: 0 }
    this.#shared.set(message, shared)
    shared.users += 1
    const release = (): void => {
      shared.users -= 1
      if (shared.users > 0) return
      this.#shared.delete(message)
      void shared.ready.then(ready => ready?.release()).catch(() => {})
    }
    try {
      const ready = await shared.ready
      if (ready) return { ...ready, release }
    } catch (error) {
      release()
      throw error
    }
    release()
    return null
  }

  async #fetch(message: MessageToSend, n: number): ReturnType<Sources['ready']> {
    const release = await this.#large.acquire(message.size * 2, message.account_id)
    try {
      const body = await fetchBody(this.#world.db, message)
      if (body) return await this.#finish(message, body, n, release)
    } catch (error) {
      release()
      throw error
    }
    release()
    return null
  }

  /** A signature costs milliseconds: recipients at many destinations share the one of their message. */
  #finishOnce(message: MessageToSend, stored: Buffer): ReturnType<Sources['ready']> {
    let finished = this.#finished.get(message)
    if (!finished) {
      finished = this.#finish(message, stored, 0, () => {})
      this.#finished.set(message, finished)
    }
    return finished
  }

  async #finish(message: MessageToSend, stored: Buffer, n: number, release: () => void) {
    const { RETURN_PATH_HOST } = this.#world.config
    const source = message.has_unsubscribe
      ? personalise(stored, this.#world.secrets, { messageId: message.id, n })
      : stored
    const key = message.domain_id === null ? null : await this.#keys.keyOf(message.domain_id)
    const returnPathDomain = key?.returnPathOk ? `bounce.${key.domain}` : RETURN_PATH_HOST
    const signing = key && { domain: key.domain, selector: key.selector, key: key.key, now: this.#world.clock.now() }
    if (source.length > LARGE_SOURCE_BYTES) {
      const final = await this.#largeSources.finish(source, signing, message.account_id)
      return { source: final, returnPathDomain, release }
    }
    if (!signing) return { source, returnPathDomain, release }
    const signature = await signDkim({ source, ...signing, sign: (data, by) => this.#signers.sign(data, by) })
    return { source: prependLines(source, signature), returnPathDomain, release }
  }
}

const PART_BYTES = 1024 * 1024

/** Null when it is gone. */
async function fetchBody(db: Db, { id, size }: MessageToSend): Promise<Buffer | null> {
  const body = Buffer.allocUnsafeSlow(size)
  for (let start = 0; start < size; start += PART_BYTES) {
    const found = await findBodyPart(db, id, { start, bytes: PART_BYTES })
    if (!found) return null
    found.part.copy(body, start)
  }
  return body
}
