// The workers of held mail: the queue follows what pauses and resumes have answered.
import { compactHoldsAnywhere } from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import type { Worker } from '../../platform/work/worker.ts'
import { expireHeld } from './expire.ts'
import { parkInSlices } from './park.ts'
import { releaseInSlices } from './release.ts'

/** Fewer changes of a pause's count than this are quickly added up by each reader. */
const HOLD_ROWS_MIN = 50

export const holdWorkers = (): Worker[] => [
  { kind: 'due', name: 'parking', wakeOn: 'suspensions', pollSeconds: 5, run: parkInSlices() },
  { kind: 'due', name: 'resuming', wakeOn: 'suspensions', pollSeconds: 5, run: releaseInSlices() },
  { kind: 'periodic', name: 'hold-expiry', seconds: 10, run: expireHeld },
  {
    kind: 'periodic',
    name: 'hold-counts',
    seconds: 30,
    run: async world => {
      await world.db.transact(system('hold-counts'), tx => compactHoldsAnywhere(tx, HOLD_ROWS_MIN))
    },
  },
]
