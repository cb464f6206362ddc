// One step of a tail: the next ids, what its reader makes of them, and the new cursor, in one transaction. The cursor's row
// lock lets one process read at a time; the others skip.
import { system } from '../db/actor.ts'
import type { Db } from '../db/database.ts'
import { prepared, sql } from '../db/sql.ts'
import { findIdAhead } from '../journal/read.ts'
import type { World } from '../world.ts'
import type { Tail } from './worker.ts'

export async function readTailOnce(world: World, tail: Tail): Promise<number> {
  await world.db.transact(system(tail.name), tx =>
    tx.run(sql`insert into tails (name, cursor) values (${tail.name}, 0) on conflict do nothing`),
  )
  return advanceTail(world, tail)
}

/** For a tail whose cursor exists. Answers how far it came, 0 when nothing was new. */
export async function advanceTail(world: World, tail: Tail): Promise<number> {
  const read = await world.db.transact(system(tail.name), async tx => {
    const after = await tx.maybeValue<number>(
      prepared`select cursor from tails where name = ${tail.name} for update skip locked`,
    )
    if (after === null) return 0
    const upTo = await findIdAhead(tx, { cursor: after, limit: tail.batchMax })
    if (upTo === null) return 0
    await tail.read(world, tx, { after, upTo })
    await tx.run(prepared`update tails set cursor = ${upTo} where name = ${tail.name}`)
    return upTo - after
  })
  if (read > 0) tail.committed?.(world)
  return read
}

/** The same for rounds of a worker: a quiet installation asks every second, and locking the cursor writes to the disk. */
export const advanceTailIfBehind = async (world: World, tail: Tail): Promise<number> => {
  const isBehind = await world.db.maybeValue<boolean>(prepared`
    select (select e.id from events e where e.id > t.cursor order by e.id desc limit 1) is not null
    from tails t where t.name = ${tail.name}`)
  return isBehind ? advanceTail(world, tail) : 0
}

/** Up to here every tail has read the journal, also one that never ran: the migrations insert all their cursors. */
export const findReadByAll = (db: Db): Promise<number> => db.value<number>(sql`select min(cursor) from tails`)
