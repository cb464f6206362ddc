// Keeps empty partitions of the journal ready ahead of the writers, and drops those that retention has emptied.
import { system } from '../db/actor.ts'
import { dropEmptyPartitions } from '../db/partitions.ts'
import { sql } from '../db/sql.ts'
import type { Worker } from '../work/worker.ts'
import type { World } from '../world.ts'

/** At 30,000 events a second one partition of 5 million lasts 160 s: two ahead outlast several missed rounds. */
const PARTITIONS_AHEAD = 2

export const journalWorkers: Worker[] = [
  {
    kind: 'periodic',
    name: 'journal-partitions',
    seconds: 60,
    // Without a partition no event can be appended, and so nothing be accepted, wherever the workers are.
    isEverywhere: true,
    run: ({ db }) =>
      db.transact(system('journal-partitions'), tx => tx.run(sql`select create_event_partitions(${PARTITIONS_AHEAD})`)),
  },
  { kind: 'periodic', name: 'journal-old-partitions', seconds: 3600, run: dropOldEventPartitions },
]

/** Those before the one that is written to now. */
export async function dropOldEventPartitions({ db }: World): Promise<void> {
  const newest = await db.maybeValue<string>(sql`select tableoid::regclass::text from events order by id desc limit 1`)
  if (newest !== null) await dropEmptyPartitions(db, 'events', newest)
}
