// What a pause matched while it was being sent comes back to the queue when the attempt failed, or was not made for want of
// a connection. It is held then, without waiting for its next turn: a purge takes all that waits.
import { activePauses } from '../../control/suspensions/active.ts'
import type { PauseScope } from '../../control/suspensions/scopes.ts'
import { lockWhileActive } from '../../control/suspensions/unfinished.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { noteHeld } from './park.ts'
import {
  deleteSettledStragglers,
  deleteStragglers,
  listPausesWithStragglersAnywhere,
  listStragglers,
  updateStragglersHeld,
} from '../queue/stragglers.ts'

type Pause = PauseScope & { account_id: string }

export async function parkLate(world: World, signal: AbortSignal): Promise<void> {
  for (const { suspension_id: id, account_id: accountId } of await listPausesWithStragglersAnywhere(world.db)) {
    if (signal.aborted) return
    await world.db.transact(system('parking'), async tx => {
      if (!(await lockWhileActive(tx, id))) return void (await deleteStragglers(tx, id))
      const pauses = (await activePauses(tx, [accountId])).get(accountId) ?? []
      const pause = pauses.find(each => each.id === id)
      if (!pause) return
      await holdStragglers(tx, pause)
      await deleteSettledStragglers(tx, id)
    })
  }
}

/** For a pause that is about to be resumed: what is still being sent then is no longer its business. */
export async function settleStragglers(tx: Tx, pause: Pause): Promise<void> {
  await holdStragglers(tx, pause)
  await deleteStragglers(tx, pause.id)
}

async function holdStragglers(tx: Tx, pause: Pause): Promise<void> {
  const stragglers = await listStragglers(tx, pause.id)
  if (stragglers.length > 0) noteHeld(tx, pause, await updateStragglersHeld(tx, pause.id, stragglers))
}
