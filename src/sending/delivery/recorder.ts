// Recording what attempts came to: many outcomes in one transaction, with their events, and with the suppressions
// that hard bounces bring. The lease is the fence: what another worker has taken over meanwhile is left alone.
import { suppress } from '../../control/feedback/suppress.ts'
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { countHeld } from '../../control/suspensions/holds.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import {
  recordDeferred,
  recordFinal,
  recordHeld,
  releaseLeases,
  updatePutOff,
  type Claimed,
  type DeliveryKey,
  type Parked,
  type PutOff,
} from './queries.ts'
import type { Verdict } from './verdict.ts'

export type Result =
  | { kind: 'attempted'; delivery: Claimed; leaseToken: string; verdict: Verdict }
  | { kind: 'held'; delivery: Claimed; leaseToken: string; suspensionId: string; scope: string }

export class Recorder {
  /** Each is answered with what went wrong with it, or null. */
  readonly #batcher: Batcher<Result, unknown>
  readonly #putOffs: Batcher<PutOff, void>

  constructor(world: World) {
    const outcomes = world.metrics.counter('sluice_attempts_total', 'Delivery attempts by what they came to', [
      'outcome',
    ])
    this.#batcher = new Batcher<Result, unknown>({
      itemsMax: 500,
      slots: 1,
      run: async results => {
        const failures = await recordAll(world, results)
        for (const [index, result] of results.entries()) {
          if (failures[index] !== null) continue
          outcomes.inc({
            outcome: result.kind === 'held' ? 'held' : (result.verdict.bounceType ?? result.verdict.status),
          })
        }
        return failures
      },
    })
    this.#putOffs = new Batcher<PutOff, void>({
      itemsMax: 500,
      slots: 1,
      run: async rows => {
        await world.db.transactLightly(system('delivery'), async tx => updatePutOff(tx, rows))
        return rows.map(() => undefined)
      },
    })
  }

  async record(result: Result): Promise<void> {
    const failure = await this.#batcher.submit(result)
    if (failure !== null) throw failure
  }

  /** Back into the queue until then, as if it had not been claimed. Nothing happened, so there is no event. */
  putOff(row: PutOff): Promise<void> {
    return this.#putOffs.submit(row)
  }
}

/**
 * Together; where one of them cannot be stored, each by itself. The others' mail has been delivered and would be sent again
 * if that were forgotten.
 */
async function recordAll(world: World, results: readonly Result[]): Promise<unknown[]> {
  try {
    await world.db.transact(system('delivery'), tx => record(tx, results))
    return results.map(() => null)
  } catch (error) {
    if (isUnavailable(error)) throw error
    const failures: unknown[] = []
    for (const result of results) failures.push(await recordOne(world, result))
    return failures
  }
}

/** What a receiver said must not keep its mail from being recorded: if need be, without its words. */
async function recordOne(world: World, result: Result): Promise<unknown> {
  const attempt = (tried: Result) => world.db.transact(system('delivery'), tx => record(tx, [tried]))
  try {
    await attempt(result)
    return null
  } catch (error) {
    if (result.kind === 'held' || isUnavailable(error)) return error
    const { message_id, n } = result.delivery
    world.log.error({ err: error, message_id, n }, 'an outcome is recorded without the words of the receiver')
    const { verdict } = result
    const bare = {
      ...verdict,
      enhancedCode: null,
      response: null,
      mxHost: null,
      data: { attempt: verdict.data['attempt'] },
    }
    return attempt({ ...result, verdict: bare }).then(
      () => null,
      (failure: unknown) => failure,
    )
  }
}

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
