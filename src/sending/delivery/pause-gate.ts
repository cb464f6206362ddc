// The last look before an attempt (RELIABILITY, Pause gate): a short transaction takes the account's lock shared and
// then, in a second statement with a new snapshot, reads the pauses. A pause takes the same lock exclusively before
// it answers, so once it has answered no gate lets matching mail through. One transaction serves everybody who waits.
import { activePauses, type ActiveSuspension } from '../../control/suspensions/active.ts'
import { lockAccountsShared } from '../../control/suspensions/account-lock.ts'
import { broadestPause, type PauseFacts } from '../../control/suspensions/match.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'

export interface Waiting {
  accountId: string
  facts: PauseFacts
}

export class PauseGate {
  readonly #batcher: Batcher<Waiting, ActiveSuspension | null>

  constructor(world: World) {
    this.#batcher = new Batcher({
      itemsMax: 500,
      slots: 2,
      run: waiting =>
        world.db.transactLightly(system('pause-gate'), async tx => {
          const accounts = [...new Set(waiting.map(each => each.accountId))].toSorted()
          await lockAccountsShared(tx, accounts)
          const pauses = await activePauses(tx, accounts)
          return waiting.map(({ accountId, facts }) => broadestPause(pauses.get(accountId) ?? [], facts))
        }),
    })
  }

  /** The pause that stops this attempt, or null when it may begin. */
  pauseFor(waiting: Waiting): Promise<ActiveSuspension | null> {
    return this.#batcher.submit(waiting)
  }
}
