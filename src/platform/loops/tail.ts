// One step of a tail: the next events, what its reader makes of them, and the new cursor, in one transaction. The
// cursor's row lock lets one process read at a time; the others skip.
import { system } from '../db/actor.ts'
import { prepared, sql } from '../db/sql.ts'
import { listEventsAfter } from '../journal/read.ts'
import type { World } from '../world.ts'
import type { Tail } from './loop.ts'

export async function readTailOnce(world: World, tail: Tail): Promise<number> {
  await world.db.transact(system(tail.name), tx =>
    tx.run(
      sql`insert into tails (name, cursor, updated_at) values (${tail.name}, 0, ${tx.now}) on conflict do nothing`,
    ),
  )
  return advanceTail(world, tail)
}

/** As above for a tail whose cursor exists. */
export function advanceTail(world: World, tail: Tail): Promise<number> {
  return world.db.transact(system(tail.name), async tx => {
    const position = await tx.maybe<{ cursor: number }>(
      prepared`select cursor from tails where name = ${tail.name} for update skip locked`,
    )
    if (!position) return 0
    const events = await listEventsAfter(tx, { cursor: position.cursor, limit: tail.batchMax })
    const last = events.at(-1)
    if (!last) return 0
    await tail.read(world, tx, events)
    await tx.run(prepared`update tails set cursor = ${last.id}, updated_at = ${tx.now} where name = ${tail.name}`)
    return events.length
  })
}
