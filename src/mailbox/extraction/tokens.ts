// The cap on tokens per account and UTC month. Before a call as much is reserved as it may use; afterwards what it has used
// takes the place of the reservation. Used and reserved together never exceed the cap, whatever number of processes race.
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import { refuse, type Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { endsOf } from '../../sending/messages/windows.ts'
import {
  deleteReservation,
  findCapAndReserved,
  insertReservation,
  lockMonth,
  updateUsed,
  type Reservation,
} from './token-queries.ts'

/** Longer than a call and settling it may take, so that only a process that died leaves a lease to lapse. */
const LEASE_MS = 180_000

interface Wanted {
  accountId: string
  /** What the prompt may cost at the most. */
  promptTokens: number
  /** Of the answer: fewer than `outputMin` are not worth a call. Near the cap there may be fewer than `outputMax`. */
  outputMin: number
  outputMax: number
}

export function reserve(world: Pick<World, 'db'>, by: Actor, wanted: Wanted): Promise<Reservation> {
  const { accountId, promptTokens, outputMin, outputMax } = wanted
  return world.db.transact(by, async tx => {
    const month = `${tx.now.toISOString().slice(0, 7)}-01`
    const used = await lockMonth(tx, { accountId, month })
    const { cap, reserved } = await findCapAndReserved(tx, { accountId, month })
    const tokens = Math.min(promptTokens + outputMax, cap - used - reserved)
    if (tokens < promptTokens + outputMin) {
      // What is reserved comes back, most of it: the cap is reached when it would not be enough either.
      const isReached = cap - used < promptTokens + outputMin
      throw overCap({ now: tx.now, isReached })
    }
    const reservation = { id: newId(tx.now), accountId, month, tokens }
    await insertReservation(tx, { ...reservation, leaseUntil: new Date(tx.now.getTime() + LEASE_MS) })
    return reservation
  })
}

/**
 * What was used, in place of what was reserved. A provider may say that it used more than it was allowed to: that counts as
 * far as the cap allows, so that no other call loses what it was promised.
 */
export function settle(world: Pick<World, 'db'>, by: Actor, reservation: Reservation, tokens: number): Promise<void> {
  return world.db.transact(by, async tx => {
    const used = await lockMonth(tx, reservation)
    await deleteReservation(tx, reservation.id)
    const { cap, reserved } = await findCapAndReserved(tx, reservation)
    const counted = Math.max(0, Math.min(tokens, cap - used - reserved))
    if (counted > 0) await updateUsed(tx, reservation, used + counted)
  })
}

/** Calls that are in flight end within a minute. */
const OTHERS_END_SECONDS = 60

export function overCap({ now, isReached }: { now: Date; isReached: boolean }): Refusal {
  const retryAfterSeconds = Math.max(1, Math.ceil((endsOf(now).month.getTime() - now.getTime()) / 1000))
  return isReached
    ? refuse('ai_token_cap', "Not enough is left of the account's AI tokens of this month.", { retryAfterSeconds })
    : refuse('ai_token_cap', "What is left of the account's AI tokens of this month is in use by other calls.", {
        retryAfterSeconds: Math.min(retryAfterSeconds, OTHERS_END_SECONDS),
      })
}
