// The one gate through which every message enters, whatever the door. Concurrent submissions are gathered into one
// transaction that stores message, body, deliveries, queue, usage, idempotency, events and audit; one that is refused
// does not fail the others.
import assert from 'node:assert/strict'
import { lockAccountsShared, tryLockAccountsShared } from '../../control/suspensions/locks.ts'
import { activePauses, PausesByAccount } from '../../control/suspensions/active.ts'
import { suppressedAmong } from '../../control/feedback/suppressed.ts'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { Batcher } from '../../platform/batcher.ts'
import { Contended } from '../../platform/contended.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { isOwnFailure, separately } from '../../platform/db/separately.ts'
import type { World } from '../../platform/world.ts'
import type { SendResponse } from './send-schema.ts'
import { CompanionsOfBatch } from './companions.ts'
import { decide, recipientsMaxOf, type Decision, type Known } from './decide.ts'
import { oldestKey } from './idempotency.ts'
import { SMALL_BYTES_MAX } from './limits.ts'
import * as queries from './queries.ts'
import { store } from './store.ts'
import type { Submission } from './submission.ts'

/** Enough to share a commit among all who wait, small enough that nobody waits for a hundred others' bytes. */
const SUBMISSIONS_MAX = 200
const BATCH_BYTES_MAX = 16 * 1024 * 1024
/**
 * A recipient takes about 0.1 ms of the database: a batch of small messages lasts 50 ms at the most, one of large ones
 * a fifth of a second.
 */
const SMALL_BATCH_RECIPIENTS_MAX = 500
const LARGE_BATCH_RECIPIENTS_MAX = 2_000
/** Messages with more are stored apart from the small ones, whose senders would wait for them. */
const SMALL_BATCH_RECIPIENTS_EACH_MAX = 20
const SMALL_COMPANION_COST_MAX = 100

/** Tenants remembered, some ten megabytes: one that is forgotten is looked at twice the next time. */
const LIMITED_MAX = 100_000

/** Another transaction has locked its account or the counters of its tenant; nothing is decided. */
const CONTENDED = Symbol('contended')

type Result = SendResponse | Error | typeof CONTENDED

/** A batch of small messages waits for no account's lock and no tenant's counters; large and contended ones do. */
type BatchKind = 'small' | 'contended' | 'large'

interface LookedUp extends Omit<Known, 'companions'> {
  isContended: (submission: Submission) => boolean
}

export class Gate {
  readonly #world: World
  readonly #small: Batcher<Submission, Result>
  readonly #contended: Contended<Submission, Result>
  readonly #large: Batcher<Submission, Result>
  /** Tenants whose counters decide: they had a limit when last seen. */
  readonly #limited = new Set<string>()

  constructor(world: World) {
    this.#world = world
    const common = { itemsMax: SUBMISSIONS_MAX, weightMax: 1, weightOf: weightWithin(SMALL_BATCH_RECIPIENTS_MAX) }
    const fair = { slots: 1, sharedBy: ({ accountId, tenantId }: Submission) => [accountId, tenantId] }
    const runAs =
      (kind: BatchKind) =>
      (submissions: Submission[]): Promise<Result[]> =>
        this.#acceptAll(submissions, kind)
    this.#small = new Batcher({ ...common, ...fair, run: runAs('small'), takesHalf: true })
    world.load.yieldWhile(() => this.#small.isBusy)
    this.#contended = new Contended({ ...common, keyOf: ({ tenantId }) => tenantId, run: runAs('contended') })
    this.#large = new Batcher({
      ...common,
      ...fair,
      run: runAs('large'),
      weightOf: weightWithin(LARGE_BATCH_RECIPIENTS_MAX),
    })
  }

  /** Answers when every recipient is durably stored; throws the refusal otherwise. */
  async submit(submission: Submission): Promise<SendResponse> {
    let result = await (isSmall(submission) ? this.#small : this.#large).submit(submission)
    if (result === CONTENDED) result = await this.#contended.submit(submission)
    assert(result !== CONTENDED, 'only a batch of small messages does not wait for locks')
    if (result instanceof Error) throw result
    return result
  }

  /**
   * Together; where that fails for a reason of their own, each by itself: what one account sends must not fail the mail of
   * another. While the database is away none can be accepted.
   */
  async #acceptAll(submissions: Submission[], kind: BatchKind): Promise<Result[]> {
    try {
      return await this.#accept(submissions, kind)
    } catch (error) {
      if (!isOwnFailure(error) || submissions.length === 1) throw error
      this.#world.log.error({ err: error, submissions: submissions.length }, 'a batch is accepted one by one')
      const { results, stoppedBy } = await separately(submissions, async each => (await this.#accept([each], kind))[0]!)
      return submissions.map((_, at) => results[at] ?? stoppedBy!)
    }
  }

  async #accept(submissions: Submission[], kind: BatchKind): Promise<Result[]> {
    const decisions = await this.#world.db.transact(system('gate'), async tx => {
      const [{ isContended: lacksLock, ...lookedUp }, companions] = await this.#lock(tx, submissions, kind)
      const known = { ...lookedUp, companions }
      const isContended = (each: Submission): boolean => lacksLock(each) || !companions.isLocked(each)
      const decided = new Map<Submission, Decision>()
      for (const submission of submissions) {
        if (isContended(submission)) continue
        decided.set(submission, decide(submission, known, tx.now))
        if (kind === 'large') await yieldToEventLoop()
      }
      await store(tx, [...decided.values()], { known, isLarge: kind === 'large' })
      return decided
    })
    this.#world.wakeups.hint('deliveries')
    return submissions.map(submission => {
      const decision = decisions.get(submission)
      if (!decision) return CONTENDED
      return decision.kind === 'refused' ? decision.refusal : decision.response
    })
  }

  /**
   * Mailboxes come behind the counters, which are locked before them everywhere. A batch of small messages waits for none of
   * them, and so asks for both at once.
   */
  async #lock(tx: Tx, submissions: readonly Submission[], kind: BatchKind): Promise<[LookedUp, CompanionsOfBatch]> {
    const lookedUp = this.#lookUp(tx, submissions, kind)
    if (kind !== 'small') await lookedUp
    return Promise.all([lookedUp, CompanionsOfBatch.lock(tx, submissions, kind !== 'small')])
  }

  /**
   * One round trip: the connection is pipelined, and the server takes the statements in their order. A tenant with limits
   * has its counters locked before anything is decided; which ones those are is remembered from the last time. Where it was
   * not known, a batch of small messages leaves them to one that waits, and another batch looks up again.
   *
   * The accounts are locked before the counters, as everywhere: two transactions that lock both never wait for each other.
   */
  async #lookUp(tx: Tx, submissions: readonly Submission[], kind: BatchKind): Promise<LookedUp> {
    const accounts = [...new Set(submissions.map(submission => submission.accountId))].toSorted()
    const ids = [...new Set(submissions.map(submission => submission.tenantId))].toSorted()
    const lockedIds = ids.filter(id => this.#limited.has(id))
    const freeIds = ids.filter(id => !this.#limited.has(id))
    const lockTenants = kind === 'small' ? queries.lockFreeTenants : queries.lockTenants
    // Locked until the commit: a pause that has answered knows that whatever was accepted without seeing it is in the queue.
    const [contended, locked, free, known, suppressed] = await Promise.all([
      kind === 'small' ? tryLockAccountsShared(tx, accounts) : lockAccountsShared(tx, accounts),
      lockedIds.length > 0 ? lockTenants(tx, lockedIds) : [],
      freeIds.length > 0 ? queries.listTenants(tx, freeIds) : [],
      lookUp(tx, submissions, accounts),
      kind === 'large' ? null : suppressedOf(tx, submissions),
    ])
    for (const tenant of locked) if (!hasLimits(tenant)) this.#limited.delete(tenant.tenant_id)
    const surprises = free.filter(hasLimits).map(tenant => tenant.tenant_id)
    const missing = lockedIds.filter(id => !locked.some(tenant => tenant.tenant_id === id))
    const isMissed = missing.length > 0
    if (kind === 'small') this.#noteLimited(surprises)
    else if (isMissed || surprises.length > 0) {
      // The counters of one that was known are gone, as after a rollback: it is looked at as if it had not been known.
      if (isMissed) for (const id of missing) this.#limited.delete(id)
      this.#noteLimited(surprises)
      if (surprises.length > 0) await queries.insertMissingCounters(tx, surprises)
      return this.#lookUp(tx, submissions, kind)
    }
    const tenants = new Map([...locked, ...free].map(tenant => [tenant.tenant_id, tenant]))
    return {
      ...known,
      tenants,
      locked: new Set(locked.map(tenant => tenant.tenant_id)),
      isContended: ({ accountId, tenantId }) =>
        (contended?.has(accountId) ?? false) || missing.includes(tenantId) || surprises.includes(tenantId),
      suppressed: suppressed ?? (await suppressedOf(tx, submissions.filter(isWithinLimit(tenants)))),
    }
  }

  #noteLimited(tenantIds: readonly string[]): void {
    for (const id of tenantIds) this.#limited.add(id)
    for (const id of this.#limited) {
      if (this.#limited.size <= LIMITED_MAX) break
      this.#limited.delete(id)
    }
  }
}

const isSmall = ({ source, recipients, companion }: Submission): boolean =>
  source.length <= SMALL_BYTES_MAX &&
  recipients.length <= SMALL_BATCH_RECIPIENTS_EACH_MAX &&
  (companion?.cost ?? 0) <= SMALL_COMPANION_COST_MAX

/** The share of a batch that a submission takes. */
const weightWithin =
  (recipientsMax: number) =>
  ({ source, recipients, companion }: Submission): number =>
    source.length / BATCH_BYTES_MAX + (recipients.length + (companion?.cost ?? 0)) / recipientsMax

const hasLimits = (tenant: queries.TenantRow): boolean =>
  tenant.quota_daily !== null ||
  tenant.quota_monthly !== null ||
  tenant.rate_per_minute !== null ||
  tenant.rate_per_hour !== null

/** Of ten thousand recipients that are too many, none is looked up. */
const isWithinLimit =
  (tenants: ReadonlyMap<string, queries.TenantRow>) =>
  ({ tenantId, recipients }: Submission): boolean => {
    const tenant = tenants.get(tenantId)
    return tenant !== undefined && recipients.length <= recipientsMaxOf(tenant)
  }

const suppressedOf = async (tx: Tx, submissions: readonly Submission[]): Promise<Set<string>> => {
  const addressed = submissions.flatMap(({ accountId, tenantId, recipients }) =>
    recipients.map(({ address }) => ({ accountId, tenantId, address })),
  )
  return addressed.length > 0 ? suppressedAmong(tx, addressed) : new Set()
}

/** All that the decisions need besides the tenants and the suppressions. */
async function lookUp(
  tx: Tx,
  submissions: readonly Submission[],
  accounts: readonly string[],
): Promise<Omit<Known, 'tenants' | 'locked' | 'suppressed' | 'companions'>> {
  const keyed = submissions.flatMap(({ tenantId, idempotency }) =>
    idempotency ? [{ tenantId, key: idempotency.key }] : [],
  )
  const [domains, keys, pauses] = await Promise.all([
    queries.listVerifiedDomains(
      tx,
      submissions.map(({ tenantId, senderDomain }) => ({ tenantId, name: senderDomain })),
    ),
    keyed.length > 0 ? queries.listIdempotencyKeys(tx.alongIndexes, keyed, oldestKey(tx.now)) : [],
    activePauses(tx, accounts),
  ])
  return {
    usage: new Map(),
    domains: new Map(domains.map(domain => [`${domain.tenant_id} ${domain.name}`, domain.id])),
    keys: new Map(keys.map(key => [`${key.tenant_id} ${key.key}`, key])),
    pauses: new PausesByAccount(pauses),
  }
}
