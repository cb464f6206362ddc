// What a resumed pause held is let go in batches behind the answer: released into the queue, or cancelled. Each batch is
// one transaction, so that a kill leaves every recipient either held or let go, and counted once.
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { activePauses, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { countHeld, countHolds } from '../../control/suspensions/holds.ts'
import { mayOverlap } from '../../control/suspensions/overlap.ts'
import { scopeName } from '../../control/suspensions/scopes.ts'
import { PauseIndex } from '../../control/suspensions/pause-index.ts'
import { noteDrained, toDrain, whereItGoes, type Unfinished } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { Mutex } from '../../platform/fairness/mutex.ts'
import type { World } from '../../platform/world.ts'
import { placeAfter, takePlaces } from '../messages/ranks.ts'
import { moveBatch } from './hand-over.ts'
import {
  factsOfMessages,
  holdsAnything,
  lockHeld,
  lockHeldWhole,
  recordUnsent,
  updateMoved,
  updateReleased,
  type HeldPage,
  type HeldRow,
  type LockedRow,
  type WalkedRow,
} from '../queue/held.ts'
import { InTurns } from './lanes.ts'

/** As in parking: the journal's lock is held while the events of a batch are appended. */
const BATCH_MAX = 2_000

const turns = new InTurns<Unfinished, HeldWalk>()

/** Answers how many pauses it worked on; one that is not done, because others work on it too, is looked at again. */
export const letGoNext = (world: World, signal: AbortSignal): Promise<number> =>
  turns.next(
    {
      list: () => toDrain(world.db),
      begin: pause => new HeldWalk(pause.id),
      batch: (pause, walk) => letGo(world, pause, walk),
      end: pause =>
        world.db.transact(system('resuming'), async tx => {
          if (await holdsAnything(tx, pause.id)) return false
          await noteDrained(tx, pause.id)
          return true
        }),
    },
    signal,
  )

async function letGo(world: World, pause: Unfinished, walk: HeldWalk): Promise<boolean> {
  // A crash of the database may undo the last batches: they are held again then, and let go again.
  const count = await world.db.transactLightly(system('resuming'), tx =>
    pause.moved_to ? handOver(tx, pause) : letGoBatch(world, tx, pause, walk),
  )
  if (count > 0 && pause.resume_action === 'release' && !pause.moved_to) world.wakeups.hint('deliveries')
  return count > 0
}

/** To the pause that keeps it. The account's lock keeps that one from being resumed until we have committed. */
async function handOver(tx: Tx, { id, account_id: accountId }: Unfinished): Promise<number> {
  await lockAccountsShared(tx, [accountId])
  const keeper = await whereItGoes(tx, id)
  return keeper ? moveBatch(tx, id, keeper) : 0
}

async function letGoBatch(world: World, tx: Tx, pause: Unfinished, walk: HeldWalk): Promise<number> {
  const { account_id: accountId } = pause
  // Sent without waiting for one another: the server takes them in their order, the lock first.
  const [, pauses] = await Promise.all([lockAccountsShared(tx, [accountId]), activePauses(tx, [accountId])])
  if (pause.resume_action === 'purge') return purge(tx, pause, walk)
  const others = (pauses.get(accountId) ?? []).filter(other => mayOverlap(pause, other))
  if (others.length > 0) return releaseAmong(world, tx, { pause, walk, others })
  const rows = await walk.next(tx, lockHeld)
  if (rows.length === 0) return 0
  letGoAs('released', tx, pause, rows)
  await requeue(world, tx, rows)
  return rows.length
}

async function purge(tx: Tx, pause: Unfinished, walk: HeldWalk): Promise<number> {
  const rows = await walk.next(tx, lockHeldWhole)
  if (rows.length === 0) return 0
  letGoAs('cancelled', tx, pause, rows)
  recordUnsent(tx, rows, 'cancelled')
  return rows.length
}

/** With pauses that came after the resume: they may stop some of it again. */
async function releaseAmong(
  world: World,
  tx: Tx,
  { pause, walk, others }: { pause: Unfinished; walk: HeldWalk; others: readonly ActiveSuspension[] },
): Promise<number> {
  const rows = await walk.next(tx, lockHeldWhole)
  if (rows.length === 0) return 0
  letGoAs('released', tx, pause, rows)
  const stopped = await stoppedBy(tx, rows, others)
  for (const [row, by] of stopped) record(tx, 'held', [row], by)
  moveTo(tx, stopped, tx.now)
  await requeue(
    world,
    tx,
    rows.filter(row => !stopped.has(row)),
  )
  return rows.length
}

function letGoAs(type: 'released' | 'cancelled', tx: Tx, pause: Unfinished, rows: readonly HeldRow[]): void {
  countHolds(tx, pause.id, -rows.length)
  record(tx, type, rows, pause)
}

/** Into the queue, each at the end of its tenant's line. */
async function requeue(world: World, tx: Tx, rows: readonly LockedRow[]): Promise<void> {
  if (rows.length === 0) return
  const places = new Map<string, number>()
  const placed = rows.map(row => {
    const place = places.get(row.tenant_id) ?? 0
    places.set(row.tenant_id, place + 1)
    return { row, place }
  })
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
export async function stoppedBy<Row extends WalkedRow>(
  tx: Tx,
  rows: readonly Row[],
  pauses: readonly ActiveSuspension[],
): Promise<ReadonlyMap<Row, ActiveSuspension>> {
  const facts = await factsOfMessages(tx, rows)
  const index = new PauseIndex(pauses)
  const stopped = new Map<Row, ActiveSuspension>()
  for (const row of rows) {
    const ofMessage = facts.get(row.message_id)
    const pause =
      ofMessage && index.broadest({ ...ofMessage, tenantId: row.tenant_id, recipientDomain: row.recipient_domain })
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
  rows: readonly HeldRow[],
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
  readonly #mutex = new Mutex()
  #after: { message_id: string; n: number } | null = null

  constructor(suspensionId: string) {
    this.#suspensionId = suspensionId
  }

  next<Row extends LockedRow>(tx: Tx, lock: (tx: Tx, page: HeldPage) => Promise<Row[]>): Promise<Row[]> {
    return this.#mutex.run(async () => {
      const rows = await lock(tx, { suspensionId: this.#suspensionId, after: this.#after, limit: BATCH_MAX })
      this.#after = rows.at(-1) ?? this.#after
      return rows
    })
  }
}
