// Recording what attempts came to: many outcomes in one transaction, with their events, and with the suppressions
// that hard bounces bring. The lease is the fence: what another worker has taken over meanwhile is left alone.
import { suppress } from '../../control/feedback/suppress.ts'
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { countHeld } from '../../control/suspensions/holds.ts'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import type { Tx } from '../../platform/db/database.ts'
import { Recorder } from '../../platform/work/recorder.ts'
import type { World } from '../../platform/world.ts'
import { leaseOf } from './in-flight.ts'
import type { Holder } from './holder.ts'
import {
  recordDeferred,
  recordFinal,
  recordHeld,
  releaseLeases,
  updateDeferrals,
  type Claimed,
  type Parked,
  type Deferral,
  type Verdict,
} from '../queue/attempts.ts'
import type { DeliveryKey, Lease } from '../queue/keys.ts'

type Result =
  | { kind: 'attempted'; delivery: Claimed; leaseToken: string; verdict: Verdict }
  | { kind: 'held'; delivery: Claimed; leaseToken: string; suspensionId: string; scope: string }

export class OutcomeRecorder {
  readonly #world: World
  readonly #holder: Holder
  /** Each is answered with what went wrong with it, or null. */
  readonly #results: Recorder<Result, unknown>
  readonly #deferrals: Recorder<Deferral, void>
  readonly #releases: Recorder<Lease, void>

  constructor(world: World, holder: Holder) {
    this.#world = world
    this.#holder = holder
    const outcomes = world.metrics.counter('sluice_attempts_total', 'Delivery attempts by what they came to', [
      'outcome',
    ])
    this.#results = new Recorder<Result, unknown>({
      slots: 1,
      isResult: result => result.kind === 'attempted',
      store: async (results, { isRepeated }) => {
        // Had an earlier try been committed without our hearing of it, its rows are no longer under our lease.
        const failures = await this.#store(results, { mustRetake: isRepeated })
        for (const [index, result] of results.entries()) {
          if (failures[index] !== null) continue
          outcomes.inc({
            outcome: result.kind === 'held' ? 'held' : (result.verdict.bounceType ?? result.verdict.status),
          })
        }
        return failures
      },
    })
    this.#deferrals = this.#lightly(async (tx, rows) => updateDeferrals(tx, rows))
    this.#releases = this.#lightly((tx, rows) => releaseLeases(tx, rows))
  }

  async record(result: Result): Promise<void> {
    const failure = await this.#results.record(result)
    if (failure !== null) throw failure
  }

  /** Back into the queue until then, as if it had not been claimed. Nothing happened, so there is no event. */
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
    return this.#results.giveUp()
  }

  #lightly<Row>(write: (tx: Tx, rows: readonly Row[]) => Promise<unknown>): Recorder<Row, void> {
    return new Recorder<Row, void>({
      slots: 1,
      store: async rows => {
        await this.#holder.proven
        await this.#world.db.transactLightly(system('delivery'), tx => write(tx, rows))
        return rows.map(() => undefined)
      },
    })
  }

  /**
   * Together; where one of them cannot be stored, each by itself. The others' mail has been delivered and would be sent again
   * if that were forgotten.
   */
  async #store(results: readonly Result[], options: { mustRetake: boolean }): Promise<unknown[]> {
    // Mail that a pause stopped may go back to the queue.
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
    if (error === null || result.kind === 'held') return error
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
  const attempted = results.filter(result => result.kind === 'attempted')
  const decided = attempted.map(({ delivery, leaseToken, verdict }) => ({
    ...delivery,
    lease_token: leaseToken,
    verdict,
  }))
  const parked = results
    .filter(result => result.kind === 'held')
    .map(({ delivery, leaseToken, suspensionId }) => ({
      ...delivery,
      lease_token: leaseToken,
      suspension_id: suspensionId,
    }))
  const final = decided.filter(each => each.verdict.status !== 'deferred')
  const deferred = decided.filter(each => each.verdict.status === 'deferred')
  const changed = await Promise.all([
    final.length > 0 ? recordFinal(tx, final) : [],
    deferred.length > 0 ? recordDeferred(tx, deferred) : [],
    parked.length > 0 ? hold(tx, parked) : [],
  ])
  const keys = new Set(changed.flat().map(({ message_id, n }) => `${message_id} ${n}`))
  const ours = results.filter(({ delivery }) => keys.has(`${delivery.message_id} ${delivery.n}`))
  for (const result of ours) tx.record(eventOf(result))
  const hard = ours.flatMap(result =>
    result.kind === 'attempted' && result.verdict.bounceType === 'hard' ? [result] : [],
  )
  await suppress(
    tx,
    hard.map(({ delivery, verdict }) => ({
      accountId: delivery.account_id,
      tenantId: delivery.tenant_id,
      address: delivery.recipient,
      reason: 'hard_bounce' as const,
      detail: verdict.response,
      messageId: delivery.message_id,
    })),
  )
}

/**
 * Held by a pause that is still active: the account's lock keeps it so until we have committed. Where it has been
 * resumed meanwhile, the mail goes back to the queue as if it had not been claimed.
 */
async function hold(tx: Tx, parked: readonly Parked[]): Promise<DeliveryKey[]> {
  await lockAccountsShared(tx, [...new Set(parked.map(each => each.account_id))].toSorted())
  const held = await recordHeld(tx, parked)
  countHeld(
    tx,
    held.map(row => row.suspension_id),
  )
  if (held.length < parked.length) await releaseLeases(tx, parked)
  return held
}

function eventOf(result: Result) {
  const { delivery } = result
  const about = {
    accountId: delivery.account_id,
    tenantId: delivery.tenant_id,
    messageId: delivery.message_id,
    recipient: delivery.recipient,
  }
  if (result.kind === 'held') {
    return { type: 'held', ...about, data: { suspension_id: result.suspensionId, scope: result.scope } }
  }
  const { verdict } = result
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
