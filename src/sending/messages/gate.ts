// The one gate through which every message enters, whatever the door. Concurrent submissions are gathered into one
// transaction that holds message, body, deliveries, queue, usage, idempotency, events and audit; one that is refused
// does not fail the others.
import { lockAccountsShared } from '../../control/suspensions/account-lock.ts'
import { activePauses } from '../../control/suspensions/active.ts'
import { countHeld } from '../../control/suspensions/holds.ts'
import { suppressedAmong } from '../../control/feedback/suppressed.ts'
import { Batcher } from '../../platform/batcher.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
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

type Result = SendResponse | Refusal

export class Gate {
  readonly #world: World
  readonly #batcher: Batcher<Submission, Result>

  constructor(world: World) {
    this.#world = world
    this.#batcher = new Batcher({
      run: submissions => this.#accept(submissions),
      itemsMax: SUBMISSIONS_MAX,
      slots: 2,
      weightMax: SOURCE_BYTES_MAX,
      weightOf: submission => submission.source.length,
    })
  }

  /** Answers when every recipient is durably stored; throws the refusal otherwise. */
  async submit(submission: Submission): Promise<SendResponse> {
    const result = await this.#batcher.submit(submission)
    if (result instanceof Refusal) throw result
    return result
  }

  async #accept(submissions: Submission[]): Promise<Result[]> {
    const decisions = await this.#world.db.transact(system('gate'), async tx => {
      const known = await lockAndLookUp(tx, submissions)
      const decided = submissions.map(submission => decide(submission, known, tx.now))
      store(tx, decided, known)
      return decided
    })
    this.#world.wakeups.hint('deliveries')
    return decisions.map(decision => (decision.kind === 'refused' ? decision.refusal : decision.response))
  }
}

/**
 * One round trip: the connection is pipelined, and the server takes the statements in their order, so what is looked up
 * is looked up after the lock. A tenant's very first message makes its counters, and looks again.
 */
async function lockAndLookUp(tx: Tx, submissions: readonly Submission[]): Promise<Known> {
  const ids = [...new Set(submissions.map(submission => submission.tenantId))].toSorted()
  const [rows, known] = await Promise.all([queries.lockTenants(tx, ids), lookUp(tx, submissions)])
  if (rows.length === ids.length) return { ...known, tenants: byTenant(rows) }
  await queries.insertMissingCounters(tx, ids)
  const [again, fresh] = await Promise.all([queries.lockTenants(tx, ids), lookUp(tx, submissions)])
  return { ...fresh, tenants: byTenant(again) }
}

const byTenant = (rows: readonly queries.TenantRow[]): Known['tenants'] =>
  new Map(rows.map(row => [row.tenant_id, row]))

/** All that the decisions need besides the tenants. */
async function lookUp(tx: Tx, submissions: readonly Submission[]): Promise<Omit<Known, 'tenants'>> {
  const keyed = submissions.flatMap(({ tenantId, idempotency }) =>
    idempotency ? [{ tenantId, key: idempotency.key }] : [],
  )
  const since = new Date(tx.now.getTime() - IDEMPOTENCY_MS)
  const accounts = [...new Set(submissions.map(submission => submission.accountId))].toSorted()
  // Held until the commit: a pause that has answered knows that whatever was accepted without seeing it is in the queue.
  const [, domains, keys, pauses, suppressed] = await Promise.all([
    lockAccountsShared(tx, accounts),
    queries.listVerifiedDomains(
      tx,
      submissions.map(({ tenantId, senderDomain }) => ({ tenantId, name: senderDomain })),
    ),
    keyed.length > 0 ? queries.listIdempotencyKeys(tx, keyed, since) : [],
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

/** Nothing here is waited for: the writes travel with the commit. */
function store(tx: Tx, decisions: readonly Decision[], known: Known): void {
  const accepted = decisions.filter(decision => decision.kind === 'accepted')
  for (const decision of decisions) {
    tx.record(...decision.events)
    if (decision.kind === 'accepted') tx.audit(decision.entry)
  }
  if (accepted.length === 0) return
  const keys = accepted.flatMap(({ newKey }) => (newKey ? [newKey] : []))
  const usage = [...known.usage.values()]
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
  if (usage.length > 0) {
    queries.updateCounters(
      tx,
      usage.map(each => known.tenants.get(each.tenant_id)!),
    )
    queries.addUsage(tx, usage)
  }
  if (keys.length > 0) queries.insertIdempotencyKeys(tx, keys)
  countHeld(
    tx,
    accepted.flatMap(({ queue }) => queue.flatMap(row => row.suspension_id ?? [])),
  )
}
