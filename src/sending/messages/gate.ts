// The one gate through which every message enters, whatever the door. Concurrent submissions are gathered into one
// transaction that holds message, body, deliveries, queue, usage, idempotency, events and audit; one that is refused
// does not fail the others.
import { activePauses } from '../../control/suspensions/active.ts'
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
      const tenants = await lockTenants(tx, submissions)
      const known = await lookUp(tx, submissions, tenants)
      const decided = submissions.map(submission => decide(submission, known, tx.now))
      await store(tx, decided, known)
      return decided
    })
    this.#world.wakeups.hint('deliveries')
    return decisions.map(decision => (decision.kind === 'refused' ? decision.refusal : decision.response))
  }
}

async function lockTenants(tx: Tx, submissions: readonly Submission[]): Promise<Map<string, queries.TenantRow>> {
  const ids = [...new Set(submissions.map(submission => submission.tenantId))].toSorted()
  let rows = await queries.lockTenants(tx, ids)
  if (rows.length < ids.length) {
    await queries.insertMissingCounters(tx, ids)
    rows = await queries.lockTenants(tx, ids)
  }
  return new Map(rows.map(row => [row.tenant_id, row]))
}

/** All that the decisions need, in one round trip: the connection is pipelined. */
async function lookUp(
  tx: Tx,
  submissions: readonly Submission[],
  tenants: Map<string, queries.TenantRow>,
): Promise<Known> {
  const keyed = submissions.flatMap(({ tenantId, idempotency }) =>
    idempotency ? [{ tenantId, key: idempotency.key }] : [],
  )
  const since = new Date(tx.now.getTime() - IDEMPOTENCY_MS)
  const [domains, keys, pauses, suppressed] = await Promise.all([
    queries.listVerifiedDomains(
      tx,
      submissions.map(({ tenantId, senderDomain }) => ({ tenantId, name: senderDomain })),
    ),
    keyed.length > 0 ? queries.listIdempotencyKeys(tx, keyed, since) : [],
    activePauses(tx, [...new Set(submissions.map(submission => submission.accountId))]),
    suppressedAmong(
      tx,
      submissions.flatMap(({ accountId, tenantId, recipients }) =>
        recipients.map(({ address }) => ({ accountId, tenantId, address })),
      ),
    ),
  ])
  return {
    tenants,
    usage: new Map(),
    domains: new Map(domains.map(domain => [`${domain.tenant_id} ${domain.name}`, domain.id])),
    keys: new Map(keys.map(key => [`${key.tenant_id} ${key.key}`, key])),
    pauses,
    suppressed,
  }
}

async function store(tx: Tx, decisions: readonly Decision[], known: Known): Promise<void> {
  const accepted = decisions.filter(decision => decision.kind === 'accepted')
  for (const decision of decisions) {
    tx.record(...decision.events)
    if (decision.kind === 'accepted') tx.audit(decision.entry)
  }
  if (accepted.length === 0) return
  const keys = accepted.flatMap(({ newKey }) => (newKey ? [newKey] : []))
  const usage = [...known.usage.values()]
  await Promise.all([
    queries.insertMessages(
      tx,
      accepted.map(decision => decision.message),
    ),
    queries.insertBodies(
      tx,
      accepted.map(({ message, source }) => ({ messageId: message.id, source })),
    ),
    enqueue(
      tx,
      accepted.flatMap(decision => decision.deliveries),
      accepted.flatMap(decision => decision.queue),
    ),
    usage.length > 0 &&
      queries.updateCounters(
        tx,
        usage.map(each => known.tenants.get(each.tenant_id)!),
      ),
    usage.length > 0 && queries.addUsage(tx, usage),
    keys.length > 0 && queries.insertIdempotencyKeys(tx, keys),
  ])
}
