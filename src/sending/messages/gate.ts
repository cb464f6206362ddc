// The one gate through which every message enters, whatever the door. Concurrent submissions are gathered into one
// transaction that holds message, body, deliveries, queue, usage, idempotency, events and audit; one that is refused
// does not fail the others.
import { lockAccountsShared } from '../../control/suspensions/locks.ts'
import { activePauses } from '../../control/suspensions/active.ts'
import { countHeld } from '../../control/suspensions/holds.ts'
import { suppressedAmong } from '../../control/feedback/suppressed.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { collision } from '../../platform/db/errors.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { enqueue } from '../delivery/enqueue.ts'
import type { SendResponse } from './contract.ts'
import { decide, type Decision, type Known } from './decide.ts'
import { IDEMPOTENCY_MS } from './limits.ts'
import * as queries from './queries.ts'
import type { Submission } from './submission.ts'

/** Enough to share a commit among everybody who waits, small enough that nobody waits for a hundred others' bytes. */
const SUBMISSIONS_MAX = 200
const SOURCE_BYTES_MAX = 16 * 1024 * 1024
/** Larger ones are stored apart from the others, who would wait for their bytes. */
const LETTER_BYTES_MAX = 256 * 1024

type Result = SendResponse | Refusal

export class Gate {
  readonly #world: World
  readonly #letters: Batcher<Submission, Result>
  readonly #parcels: Batcher<Submission, Result>
  /** Tenants whose counters decide: they had a limit when last seen. */
  readonly #limited = new Set<string>()

  constructor(world: World) {
    this.#world = world
    const common = {
      run: (submissions: Submission[]) => this.#accept(submissions),
      itemsMax: SUBMISSIONS_MAX,
      slots: 1,
      weightMax: SOURCE_BYTES_MAX,
      weightOf: ({ source }: Submission) => source.length,
    }
    this.#letters = new Batcher({ ...common, takesHalf: true })
    this.#parcels = new Batcher(common)
  }

  /** Whether many senders wait to be answered. */
  get isCrowded(): boolean {
    return this.#letters.isCrowded
  }

  /** Answers when every recipient is durably stored; throws the refusal otherwise. */
  async submit(submission: Submission): Promise<SendResponse> {
    const batcher = submission.source.length > LETTER_BYTES_MAX ? this.#parcels : this.#letters
    const result = await batcher.submit(submission)
    if (result instanceof Refusal) throw result
    return result
  }

  async #accept(submissions: Submission[]): Promise<Result[]> {
    const decisions = await this.#world.db.transact(system('gate'), async tx => {
      const known = await this.#lookUp(tx, submissions)
      const decided = submissions.map(submission => decide(submission, known, tx.now))
      await store(tx, decided, known)
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
    pauses,
    suppressed,
  }
}

/**
 * Nothing here is waited for but the keys, where there are any: the writes travel with the commit. The counters come
 * last, for whoever writes them next waits until we have committed.
 */
async function store(tx: Tx, decisions: readonly Decision[], known: Known): Promise<void> {
  const accepted = decisions.filter(decision => decision.kind === 'accepted')
  for (const decision of decisions) {
    tx.record(...decision.events)
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
  enqueue(
    tx,
    accepted.flatMap(decision => decision.deliveries),
    accepted.flatMap(decision => decision.queue),
  )
  countHeld(
    tx,
    accepted.flatMap(({ queue }) => queue.flatMap(row => row.suspension_id ?? [])),
  )
  count(tx, known)
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
