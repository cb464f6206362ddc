// What a resumed pause held is let go in batches behind the answer: released into the queue, or cancelled. Each batch is
// one transaction, so that a kill leaves every recipient either held or let go, and counted once.
import { lockAccountsShared } from '../../control/suspensions/account-lock.ts'
import { activePauses, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { countHeld, countHolds } from '../../control/suspensions/holds.ts'
import { broadestPause, mayOverlap, scopeName } from '../../control/suspensions/match.ts'
import { noteDrained, toDrain, whereItGoes, type Unfinished } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { placeAfter, takePlaces } from '../messages/ranks.ts'
import { moveBatch } from './hand-over.ts'
import {
  factsOfMessages,
  holdsAnything,
  lockHeld,
  recordUnsent,
  updateMoved,
  updateReleased,
  type LockedRow,
  type WalkedRow,
} from './hold-queries.ts'
import { inLanes, Turns } from './lanes.ts'

/** As in parking: the journal's lock is held while the events of a batch are appended. */
const BATCH_MAX = 2_000

/** Answers how many pauses it worked on; one that is not done, because others work on it too, is looked at again. */
export async function letGoNext(world: World, signal: AbortSignal): Promise<number> {
  const pauses = await toDrain(world.db)
  let done = 0
  for (const pause of pauses) if (await letGo(world, pause, signal)) done += 1
  return done
}

async function letGo(world: World, pause: Unfinished, signal: AbortSignal): Promise<boolean> {
  const walk = new HeldWalk(pause.id)
  await inLanes(signal, async () => {
    // A crash of the database may undo the last batches: they are held again then, and let go again.
    const count = await world.db.transactLightly(system('resuming'), tx =>
      pause.moved_to ? handOver(tx, pause) : letGoBatch(world, tx, pause, walk),
    )
    if (count > 0 && pause.resume_action === 'release' && !pause.moved_to) world.wakeups.hint('deliveries')
    return count > 0
  })
  return world.db.transact(system('resuming'), async tx => {
    if (await holdsAnything(tx, pause.id)) return false
    await noteDrained(tx, pause.id)
    return true
  })
}

/** To the pause that keeps it. The account's lock keeps that one from being resumed until we have committed. */
async function handOver(tx: Tx, { id, account_id: accountId }: Unfinished): Promise<number> {
  await lockAccountsShared(tx, [accountId])
  return moveBatch(tx, id, (await whereItGoes(tx, id))!)
}

async function letGoBatch(world: World, tx: Tx, pause: Unfinished, walk: HeldWalk): Promise<number> {
  const { account_id: accountId } = pause
  // Sent without waiting for one another: the server takes them in their order, the lock first.
  const [, rows, pauses] = await Promise.all([
    lockAccountsShared(tx, [accountId]),
    walk.next(tx),
    activePauses(tx, [accountId]),
  ])
  if (rows.length === 0) return 0
  countHolds(tx, pause.id, -rows.length)
  if (pause.resume_action === 'purge') {
    recordUnsent(tx, rows, 'cancelled')
    record(tx, 'cancelled', rows, pause)
    return rows.length
  }
  record(tx, 'released', rows, pause)
  const others = (pauses.get(accountId) ?? []).filter(other => mayOverlap(pause, other))
  await requeue(world, tx, rows, others)
  return rows.length
}

/** Into the queue, but for what a pause that came after the resume stops again. */
async function requeue(
  world: World,
  tx: Tx,
  rows: readonly LockedRow[],
  pauses: readonly ActiveSuspension[],
): Promise<void> {
  const stopped = pauses.length > 0 ? await stoppedBy(tx, rows, pauses) : new Map<LockedRow, ActiveSuspension>()
  const free = rows.filter(row => !stopped.has(row))
  for (const [row, pause] of stopped) record(tx, 'held', [row], pause)
  moveTo(tx, stopped, tx.now)
  const places = new Map<string, number>()
  const placed = free.map(row => {
    const place = places.get(row.tenant_id) ?? 0
    places.set(row.tenant_id, place + 1)
    return { row, place }
  })
  if (placed.length === 0) return
  const firsts = await takePlaces(world, places)
  updateReleased(
    tx,
    placed.map(({ row, place }) => ({
      place: row.place,
      rank: placeAfter(firsts.get(row.tenant_id) ?? tx.now, place),
    })),
  )
}

/** For each row that some pause matches, the broadest. */
export async function stoppedBy(
  tx: Tx,
  rows: readonly WalkedRow[],
  pauses: readonly ActiveSuspension[],
): Promise<Map<WalkedRow, ActiveSuspension>> {
  const facts = await factsOfMessages(tx, rows)
  const stopped = new Map<WalkedRow, ActiveSuspension>()
  for (const row of rows) {
    const ofMessage = facts.get(row.message_id)
    const pause =
      ofMessage &&
      broadestPause(pauses, { ...ofMessage, tenantId: row.tenant_id, recipientDomain: row.recipient_domain })
    if (pause) stopped.set(row, pause)
  }
  return stopped
}

/** Held, now by those: since the time given, or as long as before. */
export function moveTo(tx: Tx, stopped: ReadonlyMap<WalkedRow, ActiveSuspension>, heldAt: Date | null): void {
  if (stopped.size === 0) return
  updateMoved(
    tx,
    [...stopped].map(([row, pause]) => ({ ...row, suspension_id: pause.id })),
    heldAt,
  )
  countHeld(
    tx,
    [...stopped.values()].map(pause => pause.id),
  )
}

function record(
  tx: Tx,
  type: 'released' | 'cancelled' | 'held',
  rows: readonly WalkedRow[],
  pause: ActiveSuspension,
): void {
  const data = { suspension_id: pause.id, scope: scopeName(pause) }
  const { account_id: accountId } = pause
  for (const { tenant_id: tenantId, message_id: messageId, recipient } of rows) {
    tx.record({ type, accountId, tenantId, messageId, recipient, data })
  }
}

/** What the pause holds, in order. Lanes that ask at once get neighbouring rows; rows already passed are not met again. */
class HeldWalk {
  readonly #suspensionId: string
  readonly #turns = new Turns()
  #after: { message_id: string; n: number } | null = null

  constructor(suspensionId: string) {
    this.#suspensionId = suspensionId
  }

  next(tx: Tx): Promise<LockedRow[]> {
    return this.#turns.take(async () => {
      const page = { suspensionId: this.#suspensionId, after: this.#after, limit: BATCH_MAX }
      const rows = await lockHeld(tx, page)
      this.#after = rows.at(-1) ?? this.#after
      return rows
    })
  }
}
