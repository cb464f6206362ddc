// Keeps empty partitions of the journal ready ahead of the writers.
import { system } from '../db/actor.ts'
import { sql } from '../db/sql.ts'
import type { Loop } from '../loops/loop.ts'

/** At 30,000 events a second one partition of 5 million lasts 160 s: two ahead outlast several missed rounds. */
const PARTITIONS_AHEAD = 2

export const journalLoops: Loop[] = [
  {
    kind: 'every',
    name: 'journal-partitions',
    seconds: 60,
    run: async world => {
      await world.db.transact(system('journal-partitions'), tx =>
        tx.run(sql`select create_event_partitions(${PARTITIONS_AHEAD})`),
      )
    },
  },
]
