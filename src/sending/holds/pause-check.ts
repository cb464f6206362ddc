// The last look before an attempt: a short transaction takes the account's lock shared and
// then, in a second statement with a new snapshot, reads the pauses. Attempts that may begin do so before it ends: a pause
// takes the same lock exclusively, so when it has answered, whatever it did not stop has begun. One transaction serves
// all attempts that wait, except those of an account that is being paused or resumed: they wait for it by themselves.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { activePauses, PausesByAccount } from '../../control/suspensions/active.ts'
import { lockAccountsShared, tryLockAccountsShared } from '../../control/suspensions/locks.ts'
import type { PauseFacts } from '../../control/suspensions/scopes.ts'
import { Batcher } from '../../platform/batcher.ts'
import { Contended } from '../../platform/contended.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { listRequiringTls } from './queries.ts'

interface Waiting {
  accountId: string
  /** Several where recipients of several domains share the attempt: it begins when no pause matches any of them. */
  facts: readonly PauseFacts[]
  /** It would leave in clear text. The account may have forbidden that since the mail was claimed. */
  isClear: boolean
}

interface Asking extends Waiting {
  answer: (mayBegin: boolean) => void
}

type Checked = 'answered' | 'contended'

const ATTEMPTS_MAX = 500

export class PauseCheck {
  readonly #world: World
  readonly #all: Batcher<Asking, Checked>
  readonly #contended: Contended<Asking, Checked>

  constructor(world: World) {
    this.#world = world
    this.#all = new Batcher({
      itemsMax: ATTEMPTS_MAX,
      slots: 2,
      run: asking => this.#check(asking, tryLockAccountsShared),
    })
    this.#contended = new Contended({
      itemsMax: ATTEMPTS_MAX,
      keyOf: ({ accountId }) => accountId,
      run: asking => this.#check(asking, waitForAccounts),
    })
  }

  /**
   * Whether neither a pause nor a lack of TLS stops this attempt. It must begin at once, without waiting for anything else:
   * the check holds until the sockets have been read.
   */
  mayBegin(waiting: Waiting): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#submit({ ...waiting, answer: resolve }).catch(reject)
    })
  }

  async #submit(asking: Asking): Promise<void> {
    if ((await this.#all.submit(asking)) === 'contended') await this.#contended.submit(asking)
  }

  /** Answers those whose lock it got, before it gives the locks back. */
  async #check(asking: Asking[], lock: typeof tryLockAccountsShared): Promise<Checked[]> {
    const accounts = [...new Set(asking.map(each => each.accountId))].toSorted()
    return this.#world.db.transactLightly(system('pause-check'), async tx => {
      const contended = await lock(tx, accounts)
      // Most sessions are encrypted, and cost no second statement.
      const clear = asking.flatMap(({ accountId, isClear }) => (isClear ? accountId : []))
      const [active, requiringTls] = await Promise.all([
        activePauses(tx, accounts),
        clear.length > 0 ? listRequiringTls(tx, [...new Set(clear)]) : new Set<string>(),
      ])
      const pauses = new PausesByAccount(active)
      for (const { accountId, facts, isClear, answer } of asking) {
        if (contended.has(accountId)) continue
        const index = pauses.of(accountId)
        answer(!(isClear && requiringTls.has(accountId)) && !facts.some(each => index?.broadest(each)))
      }
      await yieldToEventLoop()
      return asking.map(({ accountId }) => (contended.has(accountId) ? 'contended' : 'answered'))
    })
  }
}

async function waitForAccounts(tx: Tx, accountIds: readonly string[]): Promise<Set<string>> {
  await lockAccountsShared(tx, accountIds)
  return new Set()
}
