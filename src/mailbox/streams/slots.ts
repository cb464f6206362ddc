// The slots of a key: leased rows, so that five are five over all processes, and come back when a process dies. Streams
// that open, stay and end together share a statement.
import { randomUUID } from 'node:crypto'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { claimSlots, deleteSlots, updateSlotsLeased, type SlotAsked } from './queries.ts'

const SLOTS_MAX = 5
/** A process that dies keeps its slots from others for so long: three times what they are renewed after. */
const LEASE_MS = 15_000
/** A client whose stream has just ended finds its slot free by then. */
const RETRY_AFTER_SECONDS = 5
const BATCH_MAX = 500
/** Each try that fails means that another process has opened a stream of the key. */
const TRIES_MAX = SLOTS_MAX + 1

export class StreamSlots {
  readonly #world: World
  readonly #claims: Batcher<SlotAsked, boolean>
  readonly #releases: Batcher<SlotAsked, void>
  readonly #releasing = new Set<Promise<void>>()

  constructor(world: World) {
    this.#world = world
    this.#claims = new Batcher({ run: asked => this.#claim(asked), itemsMax: BATCH_MAX, slots: 1 })
    this.#releases = new Batcher({ run: ended => this.#delete(ended), itemsMax: BATCH_MAX, slots: 1 })
  }

  async take(keyId: string): Promise<SlotAsked> {
    const slot = { token: randomUUID(), keyId }
    if (await this.#claims.submit(slot)) return slot
    const ended = `Those of a server that has died count for up to ${LEASE_MS / 1000} seconds.`
    throw refuse('too_many_streams', `This key has ${SLOTS_MAX} open streams. Close one first. ${ended}`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }

  /** When the database is away the lease gives the slot back. */
  release(slot: SlotAsked): void {
    const releasing = this.#releases
      .submit(slot)
      .catch(err => this.#world.log.debug({ err }, 'the slot of a stream is left to its lease'))
      .finally(() => this.#releasing.delete(releasing))
    this.#releasing.add(releasing)
  }

  /** Answers the slots that are no longer ours. */
  async renew(slots: readonly SlotAsked[]): Promise<SlotAsked[]> {
    if (slots.length === 0) return []
    const kept = await this.#world.db.transactLightly(system('streams'), tx =>
      updateSlotsLeased(tx, slots, new Date(tx.now.getTime() + LEASE_MS)),
    )
    const tokens = new Set(kept.map(({ lease_token }) => lease_token))
    return slots.filter(({ token }) => !tokens.has(token))
  }

  /** When the slots of all that have ended are given back. */
  async settle(): Promise<void> {
    await Promise.all(this.#releasing)
  }

  async #claim(asked: SlotAsked[]): Promise<boolean[]> {
    const taken = new Set<string>()
    let open: SlotAsked[] = asked
    for (let attempt = 0; attempt < TRIES_MAX && open.length > 0; attempt++) {
      const answers = await this.#world.db.transactLightly(system('streams'), tx =>
        claimSlots(tx, open, { leaseUntil: new Date(tx.now.getTime() + LEASE_MS), slotsMax: SLOTS_MAX }),
      )
      for (const { token, is_taken } of answers) if (is_taken) taken.add(token)
      const lost = new Set(answers.filter(({ is_taken }) => !is_taken).map(({ token }) => token))
      open = open.filter(({ token }) => lost.has(token))
    }
    return asked.map(({ token }) => taken.has(token))
  }

  async #delete(ended: SlotAsked[]): Promise<void[]> {
    await this.#world.db.transactLightly(system('streams'), tx => deleteSlots(tx, ended))
    return ended.map(() => undefined)
  }
}
