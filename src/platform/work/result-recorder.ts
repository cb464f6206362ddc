// What came of leased work, on its way into the database: many results to a transaction. One that cannot be stored keeps
// those of other accounts from nothing, and one that would have to wait for a lock waits by itself.
import { Contended } from '../contended.ts'
import type { Tx } from '../db/database.ts'
import { isOwnFailure, separately } from '../db/separately.ts'
import type { World } from '../world.ts'
import type { Ended, LeasedWork } from './leased-work.ts'
import { Recorder } from './recorder.ts'

/** Null: on record. */
type Answer = Error | 'contended' | null

type Transact = <T>(recipe: (tx: Tx) => Promise<T>) => Promise<T>

/** Of one account, to a transaction that waits. */
const CONTENDED_MAX = 100

export class ResultRecorder<Item extends object, Result> {
  readonly #world: World
  readonly #work: LeasedWork<Item, Result>
  readonly #transact: Transact
  readonly #recorder: Recorder<Ended<Item, Result>, Answer>
  readonly #contended: Contended<{ accountId: string; ended: Ended<Item, Result> }, Answer>

  constructor(world: World, work: LeasedWork<Item, Result>, transact: Transact) {
    this.#world = world
    this.#work = work
    this.#transact = transact
    const outcomes = world.metrics.counter(
      `sluice_${work.metric}_total`,
      `Attempts of ${work.name} by what came of it`,
      ['outcome'],
    )
    const store = async (ended: readonly Ended<Item, Result>[], mayWait: boolean): Promise<Answer[]> => {
      const answers = await this.#recordAll(ended, mayWait)
      ended.forEach((each, at) => answers[at] === null && outcomes.inc({ outcome: work.outcomeOf(each) }))
      return answers
    }
    this.#recorder = new Recorder({
      slots: work.recordSlots ?? 2,
      gathers: work.recordGathers,
      weightOf: work.recordWeight,
      sharedBy: ({ item }) => [work.keyOf(item).accountId],
      store: ended => store(ended, work.contended === undefined),
    })
    this.#contended = new Contended({
      itemsMax: CONTENDED_MAX,
      keyOf: ({ accountId }) => accountId,
      run: waiting => {
        const ended = waiting.map(each => each.ended)
        return this.#recorder.keepTrying(() => store(ended, true))
      },
    })
  }

  async record(ended: Ended<Item, Result>): Promise<void> {
    let answer = await this.#recorder.record(ended)
    if (answer === 'contended') {
      const { accountId } = this.#work.keyOf(ended.item)
      answer = await this.#contended.submit({ accountId, ended })
    }
    if (answer instanceof Error) throw answer
  }

  /** What is not recorded by now gets one last try; answers how many known results that are. */
  giveUp(): number {
    return this.#recorder.giveUp()
  }

  /**
   * Together; where that fails for a reason of their own, each by itself: one result that cannot be stored must not keep
   * those of other accounts from it. While the database is away none can be.
   */
  async #recordAll(ended: readonly Ended<Item, Result>[], mayWait: boolean): Promise<Answer[]> {
    try {
      const contended = await this.#recordTogether(ended, mayWait)
      return ended.map(each => (contended.has(each) ? 'contended' : null))
    } catch (error) {
      if (!isOwnFailure(error)) throw error
      if (ended.length === 1) return [error as Error]
      this.#world.log.error(
        { err: error, worker: this.#work.name, results: ended.length },
        'results are recorded one by one',
      )
      const { results, stoppedBy } = await separately(ended, async each => {
        const contended = await this.#recordTogether([each], mayWait)
        return contended.size > 0 ? ('contended' as const) : null
      })
      // All are tried again; those that are on record are no longer under our lease.
      if (stoppedBy) throw stoppedBy
      return results
    }
  }

  /** Answers those that were left out because they would have had to wait. */
  async #recordTogether(
    ended: readonly Ended<Item, Result>[],
    mayWait: boolean,
  ): Promise<ReadonlySet<Ended<Item, Result>>> {
    const work = this.#work
    const { recorded, contended } = await this.#transact(async tx => {
      const left = new Set(mayWait ? [] : await work.contended!(tx, ended))
      const free = ended.filter(each => !left.has(each))
      return { recorded: free.length > 0 ? await work.record(tx, free) : [], contended: left }
    })
    if (work.recorded && recorded.length > 0) await this.#recorder.keepTrying(() => work.recorded!(recorded))
    return contended
  }
}
