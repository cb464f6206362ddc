// The one gate through which every message enters, whatever the door. Concurrent submissions are gathered into one
// transaction that holds message, body, deliveries, queue, usage, idempotency, events and audit; one that is refused
// does not fail the others.
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { activePauses, PausesByAccount } from '../../control/suspensions/active.ts'
import { countHeld } from '../../control/suspensions/holds.ts'
import { suppressedAmong } from '../../control/feedback/suppressed.ts'
import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { collision, isUnavailable } from '../../platform/db/errors.ts'
import { locks } from '../../platform/db/locks.ts'
import { prepared } from '../../platform/db/sql.ts'
import type { World } from '../../platform/world.ts'
import { enqueue } from '../delivery/enqueue.ts'
import type { SendResponse } from './contract.ts'
import { decide, type Decision, type Known } from './decide.ts'
import { IDEMPOTENCY_MS } from './limits.ts'
import * as queries from './queries.ts'
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
/** Larger messages are stored apart from the small ones, whose senders would wait for their bytes and recipients. */
const SMALL_BYTES_MAX = 256 * 1024
const SMALL_RECIPIENTS_MAX = 20

type Result = SendResponse | Error

export class Gate {
  readonly #world: World
  readonly #small: Batcher<Submission, Result>
  readonly #large: Batcher<Submission, Result>
  /** Tenants whose counters decide: they had a limit when last seen. */
  readonly #limited = new Set<string>()

  constructor(world: World) {
    this.#world = world
    const common = {
      itemsMax: SUBMISSIONS_MAX,
      slots: 1,
      weightMax: 1,
      sharedBy: ({ accountId, tenantId }: Submission) => [accountId, tenantId],
    }
    this.#small = new Batcher({
      ...common,
      run: submissions => this.#acceptAll(submissions, 'small'),
      weightOf: weightWithin(SMALL_BATCH_RECIPIENTS_MAX),
      takesHalf: true,
    })
    this.#large = new Batcher({
      ...common,
      run: submissions => this.#acceptAll(submissions, 'large'),
      weightOf: weightWithin(LARGE_BATCH_RECIPIENTS_MAX),
    })
  }

  /** Whether many senders wait to be answered. */
  get isCrowded(): boolean {
    return this.#small.isCrowded
  }

  /** Answers when every recipient is durably stored; throws the refusal otherwise. */
  async submit(submission: Submission): Promise<SendResponse> {
    const isSmall = submission.source.length <= SMALL_BYTES_MAX && submission.recipients.length <= SMALL_RECIPIENTS_MAX
    const result = await (isSmall ? this.#small : this.#large).submit(submission)
    if (result instanceof Error) throw result
    return result
  }

  /**
   * Together; where that fails for a reason of their own, each by itself: what one account sends must not fail the mail of
   * another. While the database is away none can be accepted.
   */
  async #acceptAll(submissions: Submission[], size: 'small' | 'large'): Promise<Result[]> {
    try {
      return await this.#accept(submissions, size)
    } catch (error) {
      if (isUnavailable(error) || submissions.length === 1) throw error
      this.#world.log.error({ err: error, submissions: submissions.length }, 'a batch is accepted one by one')
      const results: Result[] = []
      for (const submission of submissions) results.push(await this.#acceptAlone(submission, size))
      return results
    }
  }

  async #acceptAlone(submission: Submission, size: 'small' | 'large'): Promise<Result> {
    try {
      const [result] = await this.#accept([submission], size)
      return result!
    } catch (error) {
      return error as Error
    }
  }

  async #accept(submissions: Submission[], size: 'small' | 'large'): Promise<Result[]> {
    const decisions = await this.#world.db.transact(system('gate'), async tx => {
      const known = await this.#lookUp(tx, submissions)
      const decided: Decision[] = []
      for (const submission of submissions) {
        decided.push(decide(submission, known, tx.now))
        if (size === 'large') await turnOfTheEventLoop()
      }
      await store(tx, decided, known)
      if (size === 'large') await lockLargeAppend(tx)
      return decided
    })
    this.#world.wakeups.hint('deliveries')
    return decisions.map(decision => (decision.kind === 'refused' ? decision.refusal : decision.response))
  }

  /**
   * One round trip: the connection is pipelined, and the server takes the statements in their order. A tenant with limits
   * has its counters locked before anything is decided; which ones those are is remembered from the last time, and looked
   * up again when it was not known.
   */
  async #lookUp(tx: Tx, submissions: readonly Submission[]): Promise<Known> {
    const ids = [...new Set(submissions.map(submission => submission.tenantId))].toSorted()
    const lockedIds = ids.filter(id => this.#limited.has(id))
    const freeIds = ids.filter(id => !this.#limited.has(id))
    const [locked, free, known] = await Promise.all([
      lockedIds.length > 0 ? queries.lockTenants(tx, lockedIds) : [],
      freeIds.length > 0 ? queries.listTenants(tx, freeIds) : [],
      lookUp(tx, submissions),
    ])
    for (const tenant of locked) if (!hasLimits(tenant)) this.#limited.delete(tenant.tenant_id)
    const surprises = free.filter(hasLimits).map(tenant => tenant.tenant_id)
    const missing = lockedIds.filter(id => !locked.some(tenant => tenant.tenant_id === id))
    if (surprises.length + missing.length > 0) {
      for (const id of surprises) this.#limited.add(id)
      await queries.insertMissingCounters(tx, [...surprises, ...missing])
      return this.#lookUp(tx, submissions)
    }
    const tenants = new Map([...locked, ...free].map(tenant => [tenant.tenant_id, tenant]))
    return { ...known, tenants, locked: new Set(locked.map(tenant => tenant.tenant_id)) }
  }
}

/** The share of a batch that a submission takes. */
const weightWithin =
  (recipientsMax: number) =>
  ({ source, recipients }: Submission): number =>
    source.length / BATCH_BYTES_MAX + recipients.length / recipientsMax

/**
 * The journal lets one transaction append at a time, and ten thousand events take a fifth of a second. One such append at
 * a time, over all processes: a small one that comes meanwhile waits for one of them at the most.
 */
const lockLargeAppend = async (tx: Tx): Promise<void> => {
  await tx.many(prepared`select pg_advisory_xact_lock(${locks.largeAppend})`)
}

const hasLimits = (tenant: queries.TenantRow): boolean =>
  tenant.quota_daily !== null ||
  tenant.quota_monthly !== null ||
  tenant.rate_per_minute !== null ||
  tenant.rate_per_hour !== null

/** All that the decisions need besides the tenants. */
async function lookUp(tx: Tx, submissions: readonly Submission[]): Promise<Omit<Known, 'tenants' | 'locked'>> {
  const keyed = submissions.flatMap(({ tenantId, idempotency }) =>
    idempotency ? [{ tenantId, key: idempotency.key }] : [],
  )
  const accounts = [...new Set(submissions.map(submission => submission.accountId))].toSorted()
  // Held until the commit: a pause that has answered knows that whatever was accepted without seeing it is in the queue.
  const [, domains, keys, pauses, suppressed] = await Promise.all([
    lockAccountsShared(tx, accounts),
    queries.listVerifiedDomains(
      tx,
      submissions.map(({ tenantId, senderDomain }) => ({ tenantId, name: senderDomain })),
    ),
    keyed.length > 0 ? queries.listIdempotencyKeys(tx, keyed, oldestKey(tx)) : [],
    activePauses(tx, accounts),
    suppressedAmong(
      tx,
      submissions.flatMap(({ accountId, tenantId, recipients }) =>
        recipients.map(({ address }) => ({ accountId, tenantId, address })),
      ),
    ),
  ])
  return {
    usage: new Map(),
    domains: new Map(domains.map(domain => [`${domain.tenant_id} ${domain.name}`, domain.id])),
    keys: new Map(keys.map(key => [`${key.tenant_id} ${key.key}`, key])),
    pauses: new PausesByAccount(pauses),
    suppressed,
  }
}

/**
 * The writes travel with the commit. They are waited for only where keys are taken, and where there are so many rows that
 * writing them down would keep the thread from everybody else. The counters come last: the next batch that writes them
 * waits until this one has committed.
 */
async function store(tx: Tx, decisions: readonly Decision[], known: Known): Promise<void> {
  const accepted = decisions.filter(decision => decision.kind === 'accepted')
  for (const decision of decisions) {
    for (const event of decision.events) tx.record(event)
    if (decision.kind === 'accepted') tx.audit(decision.entry)
  }
  if (accepted.length === 0) return
  await takeKeys(tx, accepted)
  queries.insertMessages(
    tx,
    accepted.map(decision => decision.message),
  )
  queries.insertBodies(
    tx,
    accepted.map(({ message, source }) => ({ messageId: message.id, source })),
  )
  await storeRecipients(tx, accepted)
  countHeld(
    tx,
    accepted.flatMap(({ queue }) => queue.flatMap(row => row.suspension_id ?? [])),
  )
  count(tx, known)
}

const ROWS_AT_ONCE = 1_000

async function storeRecipients(tx: Tx, accepted: readonly (Decision & { kind: 'accepted' })[]): Promise<void> {
  const deliveries = accepted.flatMap(decision => decision.deliveries)
  const queue = accepted.flatMap(decision => decision.queue)
  for (let start = 0; start < deliveries.length; start += ROWS_AT_ONCE) {
    if (start > 0) await turnOfTheEventLoop()
    const end = start + ROWS_AT_ONCE
    enqueue(tx, deliveries.slice(start, end), queue.slice(start, end))
  }
}

/** A twin that was accepted since we looked has the key: the whole batch is decided again. */
async function takeKeys(tx: Tx, accepted: readonly (Decision & { kind: 'accepted' })[]): Promise<void> {
  const keys = accepted.flatMap(({ newKey }) => newKey ?? [])
  if (keys.length === 0) return
  const taken = await queries.insertIdempotencyKeys(tx, keys, oldestKey(tx))
  if (taken < keys.length) throw collision('an idempotency key was taken meanwhile')
}

function count(tx: Tx, known: Known): void {
  const usage = [...known.usage.values()]
  if (usage.length === 0) return
  const rows = usage.map(each => known.tenants.get(each.tenant_id)!)
  const locked = rows.filter(row => known.locked.has(row.tenant_id))
  const free = rows.filter(row => !known.locked.has(row.tenant_id))
  if (locked.length > 0) queries.updateCounters(tx, locked)
  if (free.length > 0) queries.addToCounters(tx, free)
  queries.addUsage(tx, usage)
}

const oldestKey = (tx: Tx): Date => new Date(tx.now.getTime() - IDEMPOTENCY_MS)
