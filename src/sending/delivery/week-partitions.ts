// Messages, their bodies and their deliveries lie in tables by the week. Those ahead are made before they are needed; those
// that retention has emptied are dropped.
import { system } from '../../platform/db/actor.ts'
import { dropEmptyPartitions } from '../../platform/db/partitions.ts'
import type { World } from '../../platform/world.ts'
import { createPartitions } from './queries.ts'

const WEEKS_AHEAD = 2
const WEEK_MS = 7 * 86_400_000
const PARENTS = ['messages', 'message_bodies', 'deliveries']

export async function keepWeekPartitions({ db, clock, log }: World): Promise<void> {
  await db.transact(system('message-partitions'), tx => createPartitions(tx, WEEKS_AHEAD))
  // Named after its Monday. The week before this one stays, whatever clocks say.
  const kept = new Date(clock.now().getTime() - 2 * WEEK_MS).toISOString().slice(0, 10).replaceAll('-', '')
  for (const parent of PARENTS) {
    const dropped = await dropEmptyPartitions(db, parent, `${parent}_${kept}`)
    if (dropped.length > 0) log.info({ dropped }, 'dropped empty partitions')
  }
}
