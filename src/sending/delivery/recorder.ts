// Recording what attempts came to: many outcomes in one transaction, with their events, and with the suppressions
// that hard bounces bring. The lease is the fence: what another worker has taken over meanwhile is left alone.
import { suppress } from '../../control/feedback/suppress.ts'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import type { Tx } from '../../platform/db/database.ts'
import { AccountRecorder } from '../../platform/work/account-recorder.ts'
import type { World } from '../../platform/world.ts'
import { leaseOf } from './in-flight.ts'
import type { Holder } from './holder.ts'
import { requeue } from '../holds/requeue.ts'
import {
  recordDeferred,
  recordFinal,
  releaseLeases,
  updateDeferrals,
  type Claimed,
  type Deferral,
  type Verdict,
} from '../queue/attempts.ts'
import { aboutOf, keyOf, type Lease, type QueuedRow } from '../queue/keys.ts'

interface Result {
  delivery: Claimed
  leaseToken: string
  verdict: Verdict
}

/**
 * Under load, or each transaction would have ten. Measured with the database: 4.2 ms of CPU for a message without it, 4.0 with
 * it. A crash meanwhile sends again what is not on record.
 */
const GATHERS = { items: 48, ms: 40 }

export class OutcomeRecorder {
  readonly #world: World
  readonly #holder: Holder
  /** Each is answered with what went wrong with it, or null. */
  readonly #finals: AccountRecorder<Result, unknown>
  /** Apart: what goes back to the queue waits for the lock of its account. */
  readonly #deferred: AccountRecorder<Result, unknown>
  readonly #deferrals: AccountRecorder<Deferral, void>
  readonly #releases: AccountRecorder<Lease, void>

  constructor(world: World, holder: Holder) {
    this.#world = world
    this.#holder = holder
    const outcomes = world.metrics.counter('sluice_attempts_total', 'Delivery attempts by what they came to', [
      'outcome',
    ])
    const recorder = () =>
      new AccountRecorder<Result, unknown>({
        accountOf: ({ delivery }) => delivery.account_id,
        gathers: GATHERS,
        store: async (results, { isRepeated }) => {
          // Had an earlier try been committed without our hearing of it, its rows are no longer under our lease.
          const failures = await this.#store(results, { mustRetake: isRepeated })
          for (const [index, result] of results.entries()) {
            if (failures[index] !== null) continue
            outcomes.inc({ outcome: result.verdict.bounceType ?? result.verdict.status })
          }
          return failures
        },
      })
    this.#finals = recorder()
    this.#deferred = recorder()
    const returning = <Row extends Lease>(write: (tx: Tx, rows: readonly Row[]) => Promise<QueuedRow[]>) =>
      new AccountRecorder<Row, void>({
        accountOf: ({ account_id }) => account_id,
        store: async rows => {
          await holder.proven
          const held = await world.db.transactLightly(system('delivery'), async tx =>
            requeue(tx, await write(tx, rows)),
          )
          outcomes.inc({ outcome: 'held' }, held.size)
          return rows.map(() => undefined)
        },
      })
    this.#deferrals = returning(updateDeferrals)
    this.#releases = returning(releaseLeases)
  }

  async record(result: Result): Promise<void> {
    const recorder = result.verdict.status === 'deferred' ? this.#deferred : this.#finals
    const failure = await recorder.record(result)
    if (failure !== null) throw failure
  }

  /** Back into the queue until then, as if it had not been claimed: no event, unless a pause holds it. */
  defer(row: Deferral): Promise<void> {
    return this.#deferrals.record(row)
  }

  /** Back into the queue, to be claimed again at once. */
  release(lease: Lease): Promise<void> {
    return this.#releases.record(lease)
  }

  /** What is not recorded by now is not kept any longer; answers how many known outcomes that are. */
  giveUp(): number {
    for (const recorder of [this.#deferrals, this.#releases]) recorder.giveUp()
    return this.#finals.giveUp() + this.#deferred.giveUp()
  }

  /**
   * Together; where one of them cannot be stored, each by itself. The others' mail has been delivered and would be sent again
   * if that were forgotten.
   */
  async #store(results: readonly Result[], options: { mustRetake: boolean }): Promise<unknown[]> {
    // Deferred mail goes back to the queue.
    await this.#holder.proven
    try {
      await this.#transact(results, options)
      return results.map(() => null)
    } catch (error) {
      if (isUnavailable(error)) throw error
      const failures: unknown[] = []
      for (const result of results) failures.push(await this.#storeOne(result))
      return failures
    }
  }

  /** What a receiver said must not keep its mail from being recorded: if need be, without its words. */
  async #storeOne(result: Result): Promise<unknown> {
    const error = await this.#failureOf(result)
    if (error === null) return error
    const { message_id, n } = result.delivery
    this.#world.log.error({ err: error, message_id, n }, 'an outcome is recorded without the words of the receiver')
    const { verdict } = result
    const data = { attempt: verdict.data['attempt'] }
    const bare = { ...verdict, enhancedCode: null, response: null, mxHost: null, data }
    return this.#failureOf({ ...result, verdict: bare })
  }

  async #failureOf(result: Result): Promise<unknown> {
    try {
      await this.#transact([result], { mustRetake: true })
      return null
    } catch (error) {
      if (isUnavailable(error)) throw error
      return error
    }
  }

  /**
   * A crash of the database may have undone the claim, and no heartbeat has taken it back yet: the outcome would find no row
   * and the mail would be sent again. Leases that failed with their transaction are not ours either.
   */
  #transact(results: readonly Result[], { mustRetake }: { mustRetake: boolean }): Promise<void> {
    return this.#world.db.transact(system('delivery'), async tx => {
      if (mustRetake || this.#holder.mustProve) await this.#holder.retake(tx, results.map(leaseOfResult))
      await record(tx, results)
    })
  }
}

const leaseOfResult = ({ delivery, leaseToken }: Result) => leaseOf(delivery, leaseToken)

async function record(tx: Tx, results: readonly Result[]): Promise<void> {
  const decided = results.map(({ delivery, leaseToken, verdict }) => ({
    ...delivery,
    lease_token: leaseToken,
    verdict,
  }))
  const final = decided.filter(each => each.verdict.status !== 'deferred')
  const deferred = decided.filter(each => each.verdict.status === 'deferred')
  const changed = await Promise.all([
    final.length > 0 ? recordFinal(tx, final) : [],
    deferred.length > 0 ? recordDeferred(tx, deferred) : [],
  ])
  const keys = new Set(changed.flat().map(keyOf))
  const ours = results.filter(({ delivery }) => keys.has(keyOf(delivery)))
  for (const result of ours) tx.record(eventOf(result))
  await requeue(
    tx,
    ours.flatMap(({ delivery, verdict }) => (verdict.status === 'deferred' ? delivery : [])),
  )
  await suppress(
    tx,
    ours.flatMap(({ delivery, verdict }) => (verdict.bounceType === 'hard' ? suppressionOf(delivery, verdict) : [])),
  )
}

const suppressionOf = (delivery: Claimed, { response }: Verdict) => ({
  ...aboutOf(delivery),
  address: delivery.recipient,
  reason: 'hard_bounce' as const,
  detail: response,
})

function eventOf({ delivery, verdict }: Result) {
  return {
    type: verdict.status,
    ...aboutOf(delivery),
    data: {
      ...(verdict.smtpCode !== null && { smtp_code: verdict.smtpCode }),
      ...(verdict.enhancedCode !== null && { enhanced_code: verdict.enhancedCode }),
      ...(verdict.response !== null && { response: verdict.response }),
      ...(verdict.mxHost !== null && { mx_host: verdict.mxHost }),
      ...(verdict.bounceType !== null && { bounce_type: verdict.bounceType }),
      ...verdict.data,
    },
  }
}
