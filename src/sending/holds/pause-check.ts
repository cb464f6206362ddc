// The last look before an attempt: a short transaction takes the account's lock shared and
// then, in a second statement with a new snapshot, reads the pauses. Attempts that may begin do so before it ends: a pause
// takes the same lock exclusively, so when it has answered, whatever it did not stop has begun. One transaction serves
// all attempts that wait.
import { setImmediate as sockets } from 'node:timers/promises'
import { activePauses, PausesByAccount } from '../../control/suspensions/active.ts'
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import type { PauseFacts } from '../../control/suspensions/scopes.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'

interface Waiting {
  accountId: string
  /** Several where recipients of several domains share the attempt: it begins when no pause matches any of them. */
  facts: readonly PauseFacts[]
}

interface Asking extends Waiting {
  answer: (mayBegin: boolean) => void
}

export class PauseCheck {
  readonly #batcher: Batcher<Asking, void>

  constructor(world: World) {
    this.#batcher = new Batcher<Asking, void>({
      itemsMax: 500,
      slots: 2,
      run: async asking => {
        await world.db.transactLightly(system('pause-check'), async tx => {
          const accounts = [...new Set(asking.map(each => each.accountId))].toSorted()
          await lockAccountsShared(tx, accounts)
          const pauses = new PausesByAccount(await activePauses(tx, accounts))
          for (const { accountId, facts, answer } of asking) {
            const index = pauses.of(accountId)
            answer(!facts.some(each => index?.broadest(each)))
          }
          await sockets()
        })
        return asking.map(() => undefined)
      },
    })
  }

  /**
   * Whether no pause stops this attempt. It must begin at once, without waiting for anything else: the gate stays open
   * until the sockets have been read.
   */
  mayBegin(waiting: Waiting): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#batcher.submit({ ...waiting, answer: resolve }).catch(reject)
    })
  }
}
