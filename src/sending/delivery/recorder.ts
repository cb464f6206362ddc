// Recording what attempts came to: many outcomes in one transaction, with their events, and with the suppressions
// that hard bounces bring. The lease is the fence: what another worker has taken over meanwhile is left alone.
import { suppress } from '../../control/feedback/suppress.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import type { Tx } from '../../platform/db/database.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { World } from '../../platform/world.ts'
import { leaseOf } from './flight.ts'
import type { Holder } from './holder.ts'
import { requeue } from '../holds/requeue.ts'
import {
  recordDeferred,
  recordFinal,
  releaseLeases,
  updatePutOff,
  type Claimed,
  type PutOff,
  type Returned,
  type Verdict,
} from '../queue/attempts.ts'
import type { Lease } from '../queue/keys.ts'

export interface Result {
  delivery: Claimed
  leaseToken: string
  verdict: Verdict
}

/**
 * What is handed in here is kept until it is recorded, however long the database is away. It is never more than what the
 * process has in flight, because a delivery stays in flight until its outcome is on record.
 */
export class Recorder {
  /** Each is answered with what went wrong with it, or null. */
  readonly #batcher: Batcher<Result, unknown>
  readonly #putOffs: Batcher<PutOff, void>
  readonly #releases: Batcher<Lease, void>
  readonly #givingUp = new AbortController()
  #outcomes = 0

  constructor(world: World, holder: Holder) {
    const { signal } = this.#givingUp
    const outcomes = world.metrics.counter('sluice_attempts_total', 'Delivery attempts by what they came to', [
      'outcome',
    ])
    this.#batcher = new Batcher<Result, unknown>({
      itemsMax: 500,
      slots: 1,
      run: async results => {
        const records = new Records(world, holder)
        const failures = await retryWhileUnavailable(() => records.store(results), signal)
        for (const [index, result] of results.entries()) {
          if (failures[index] !== null) continue
          outcomes.inc({ outcome: result.verdict.bounceType ?? result.verdict.status })
        }
        return failures
      },
    })
    const returning = <Row>(write: (tx: Tx, rows: Row[]) => Promise<Returned[]>) =>
      new Batcher<Row, void>({
        itemsMax: 500,
        slots: 1,
        run: async rows => {
          const store = async () => {
            await holder.proven
            return world.db.transactLightly(system('delivery'), async tx => requeue(tx, await write(tx, rows)))
          }
          const held = await retryWhileUnavailable(store, signal)
          outcomes.inc({ outcome: 'held' }, held.size)
          return rows.map(() => undefined)
        },
      })
    this.#putOffs = returning<PutOff>(updatePutOff)
    this.#releases = returning<Lease>(releaseLeases)
  }

  async record(result: Result): Promise<void> {
    this.#outcomes += 1
    try {
      const failure = await this.#batcher.submit(result)
      if (failure !== null) throw failure
    } finally {
      this.#outcomes -= 1
    }
  }

  /** Back into the queue until then, as if it had not been claimed: no event, unless a pause holds it. */
  putOff(row: PutOff): Promise<void> {
    return this.#putOffs.submit(row)
  }

  /** As above, to be claimed again at once. */
  release(lease: Lease): Promise<void> {
    return this.#releases.submit(lease)
  }

  /** What is not recorded by now is not kept any longer; answers how many known outcomes that are. */
  giveUp(): number {
    this.#givingUp.abort()
    return this.#outcomes
  }
}

/** Storing one batch, if need be several times. */
class Records {
  readonly #world: World
  readonly #holder: Holder
  #isRepeated = false

  constructor(world: World, holder: Holder) {
    this.#world = world
    this.#holder = holder
  }

  /**
   * Together; where one of them cannot be stored, each by itself. The others' mail has been delivered and would be sent again
   * if that were forgotten.
   */
  async store(results: readonly Result[]): Promise<unknown[]> {
    // Had an earlier try been committed without our hearing of it, its rows are no longer under our lease.
    const mustRetake = this.#isRepeated
    this.#isRepeated = true
    // What is deferred goes back to the queue.
    await this.#holder.proven
    try {
      await this.#transact(results, { mustRetake })
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
    try {
      await this.#transact([result], { mustRetake: true })
      return null
    } catch (error) {
      if (isUnavailable(error)) throw error
      const { message_id, n } = result.delivery
      this.#world.log.error({ err: error, message_id, n }, 'an outcome is recorded without the words of the receiver')
      return this.#storeBare(result)
    }
  }

  async #storeBare(result: Result): Promise<unknown> {
    const { verdict } = result
    const data = { attempt: verdict.data['attempt'] }
    const bare = { ...verdict, enhancedCode: null, response: null, mxHost: null, data }
    try {
      await this.#transact([{ ...result, verdict: bare }], { mustRetake: true })
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
  const keys = new Set(changed.flat().map(({ message_id, n }) => `${message_id} ${n}`))
  const ours = results.filter(({ delivery }) => keys.has(`${delivery.message_id} ${delivery.n}`))
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
  accountId: delivery.account_id,
  tenantId: delivery.tenant_id,
  address: delivery.recipient,
  reason: 'hard_bounce' as const,
  detail: response,
  messageId: delivery.message_id,
})

function eventOf({ delivery, verdict }: Result) {
  const about = {
    accountId: delivery.account_id,
    tenantId: delivery.tenant_id,
    messageId: delivery.message_id,
    recipient: delivery.recipient,
  }
  return {
    type: verdict.status,
    ...about,
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
