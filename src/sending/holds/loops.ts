// The loops of held mail: the queue follows what pauses and resumes have answered.
import { compactHoldsAnywhere } from '../../control/suspensions/progress.ts'
import { system } from '../../platform/db/actor.ts'
import type { Loop } from '../../platform/loops/loop.ts'
import { expireHeld } from './expire.ts'
import { parkNext } from './park.ts'
import { releaseNext } from './release.ts'

/** Fewer changes of a pause's count than this are quickly added up by whoever asks. */
const HOLD_ROWS_MIN = 50

export const holdLoops: Loop[] = [
  { kind: 'work', name: 'parking', wakeOn: 'suspensions', pollSeconds: 5, run: parkNext },
  { kind: 'work', name: 'resuming', wakeOn: 'suspensions', pollSeconds: 5, run: releaseNext },
  { kind: 'every', name: 'hold-expiry', seconds: 60, run: expireHeld },
  {
    kind: 'every',
    name: 'hold-counts',
    seconds: 30,
    run: async world => {
      await world.db.transact(system('hold-counts'), tx => compactHoldsAnywhere(tx, HOLD_ROWS_MIN))
    },
  },
]
