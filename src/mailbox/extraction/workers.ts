// Removes reservations of processes that died. They count no more once their lease has lapsed; this is for the space.
import { system } from '../../platform/db/actor.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { deleteLapsedReservations } from './token-queries.ts'

const HOUR_MS = 3_600_000

export const extractionWorkers: Worker[] = [
  {
    kind: 'periodic',
    name: 'ai-reservations',
    seconds: 3_600,
    run: async ({ db }) => {
      await db.transact(system('ai-reservations'), tx =>
        deleteLapsedReservations(tx, new Date(tx.now.getTime() - HOUR_MS)),
      )
    },
  },
]
