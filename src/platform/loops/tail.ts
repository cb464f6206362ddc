// One step of a tail: the next events, what its reader makes of them, and the new cursor, in one transaction. The
// cursor's row lock lets one process read at a time; the others skip.
import { system } from '../db/actor.ts'
import type { Tx } from '../db/database.ts'
import { prepared, sql } from '../db/sql.ts'
import { findIdAhead, listEventsAfter } from '../journal/read.ts'
import type { World } from '../world.ts'
import type { RangeTail, Tail } from './loop.ts'

export async function readTailOnce(world: World, tail: Tail | RangeTail): Promise<number> {
  await world.db.transact(system(tail.name), tx =>
    tx.run(
      sql`insert into tails (name, cursor, updated_at) values (${tail.name}, 0, ${tx.now}) on conflict do nothing`,
    ),
  )
  return advanceTail(world, tail)
}

/** As above for a tail whose cursor exists. Answers how far it came, 0 when nothing was new. */
export async function advanceTail(world: World, tail: Tail | RangeTail): Promise<number> {
  const read = await world.db.transact(system(tail.name), async tx => {
    const position = await tx.maybe<{ cursor: number }>(
      prepared`select cursor from tails where name = ${tail.name} for update skip locked`,
    )
    if (!position) return 0
    const last = await readNext(world, tx, tail, position.cursor)
    if (last === null) return 0
    await tx.run(prepared`update tails set cursor = ${last}, updated_at = ${tx.now} where name = ${tail.name}`)
    return last - position.cursor
  })
  if (read > 0 && tail.kind === 'range-tail') tail.committed?.(world)
  return read
}

/** Lets the tail read what is next; answers the last id that it read. */
async function readNext(world: World, tx: Tx, tail: Tail | RangeTail, cursor: number): Promise<number | null> {
  const next = { cursor, limit: tail.batchMax }
  if (tail.kind === 'range-tail') {
    const upTo = await findIdAhead(tx, next)
    if (upTo !== null) await tail.read(world, tx, { after: cursor, upTo })
    return upTo
  }
  const events = await listEventsAfter(tx, next)
  if (events.length > 0) await tail.read(world, tx, events)
  return events.at(-1)?.id ?? null
}
