// Results of many accounts, together in a transaction. Where that takes too long, each account has one of its own: what
// locks the rows of one keeps nobody else's results waiting.
import { Contended } from '../contended.ts'
import { isTimedOut } from '../db/errors.ts'
import { separately } from '../db/separately.ts'
import type { Gathering } from '../batcher.ts'
import { Recorder } from './recorder.ts'

interface AccountRecorderOptions<Entry, Answer> {
  accountOf: (entry: Entry) => string
  gathers?: Gathering
  /** As that of a `Recorder`. */
  store: (entries: readonly Entry[], batch: { isRepeated: boolean }) => Promise<Answer[]>
}

/** Not stored: its account takes too long. */
const SLOW = Symbol('slow')

/** Of one account, to a transaction of its own. */
const SLOW_MAX = 100

export class AccountRecorder<Entry, Answer> {
  readonly #options: AccountRecorderOptions<Entry, Answer>
  readonly #recorder: Recorder<Entry, Answer | typeof SLOW>
  readonly #slow: Contended<{ accountId: string; entry: Entry }, Answer>
  #waiting = 0

  constructor(options: AccountRecorderOptions<Entry, Answer>) {
    this.#options = options
    this.#recorder = new Recorder({
      slots: 1,
      gathers: options.gathers,
      store: (entries, batch) => this.#storeAll(entries, batch),
    })
    this.#slow = new Contended({
      itemsMax: SLOW_MAX,
      keyOf: ({ accountId }) => accountId,
      run: waiting =>
        options.store(
          waiting.map(({ entry }) => entry),
          { isRepeated: true },
        ),
    })
  }

  async record(entry: Entry): Promise<Answer> {
    const answer = await this.#recorder.record(entry)
    if (answer !== SLOW) return answer
    const accountId = this.#options.accountOf(entry)
    this.#waiting += 1
    return this.#recorder.keepTrying(() => this.#slow.submit({ accountId, entry })).finally(() => (this.#waiting -= 1))
  }

  /** What is not recorded by now gets one last try; answers how many known results that are. */
  giveUp(): number {
    return this.#recorder.giveUp() + this.#waiting
  }

  async #storeAll(entries: readonly Entry[], batch: { isRepeated: boolean }): Promise<(Answer | typeof SLOW)[]> {
    try {
      return await this.#options.store(entries, batch)
    } catch (error) {
      if (!isTimedOut(error)) throw error
      return this.#storeByAccount(entries)
    }
  }

  async #storeByAccount(entries: readonly Entry[]): Promise<(Answer | typeof SLOW)[]> {
    const byAccount = Map.groupBy(entries, this.#options.accountOf)
    if (byAccount.size === 1) return entries.map(() => SLOW)
    const groups = [...byAccount.values()]
    const { results, stoppedBy } = await separately(groups, own => this.#options.store(own, { isRepeated: true }))
    const failure = [...results, stoppedBy].find(each => each instanceof Error && !isTimedOut(each))
    if (failure) throw failure as Error
    const answers = new Map<Entry, Answer>()
    for (const [n, stored] of results.entries()) {
      if (stored instanceof Error) continue
      for (const [at, entry] of groups[n]!.entries()) answers.set(entry, stored[at]!)
    }
    return entries.map(entry => (answers.has(entry) ? answers.get(entry)! : SLOW))
  }
}
