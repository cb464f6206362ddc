// Storing what was accepted: the writes of a batch, in the order in which their locks are taken.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { countHeld } from '../../control/suspensions/progress.ts'
import type { Tx } from '../../platform/db/database.ts'
import { collision } from '../../platform/db/errors.ts'
import { locks, takeLock } from '../../platform/db/locks.ts'
import { enqueue } from '../queue/enqueue.ts'
import type { Decision, Known } from './decide.ts'
import { oldestKey } from './idempotency.ts'
import * as queries from './queries.ts'

/**
 * The writes travel with the commit. They are waited for only where keys are taken, and where there are so many rows that
 * writing them down would keep the thread from everybody else. The counters come last, after all that is waited for: the next
 * batch that writes them waits until this one has committed.
 */
export async function store(
  tx: Tx,
  decisions: readonly Decision[],
  { known, isLarge }: { known: Known; isLarge: boolean },
): Promise<void> {
  const accepted = decisions.filter(decision => decision.kind === 'accepted')
  for (const decision of decisions) {
    for (const event of decision.events) tx.record(event)
    if (decision.kind === 'accepted') tx.audit(decision.entry)
  }
  const kept = decisions.filter(decision => decision.kind === 'kept')
  if (accepted.length + kept.length === 0) return
  await takeKeys(tx, [...accepted, ...kept])
  if (accepted.length > 0) await storeAccepted(tx, accepted)
  await storeCompanions(tx, [...accepted, ...kept], known)
  keepResults(tx, [...accepted, ...kept])
  if (isLarge) await lockLargeAppend(tx)
  count(tx, known)
}

type Accepted = Decision & { kind: 'accepted' }
type Kept = Decision & { kind: 'kept' }

async function storeAccepted(tx: Tx, accepted: readonly Accepted[]): Promise<void> {
  queries.insertMessages(
    tx,
    accepted.map(decision => decision.message),
  )
  const bodies = accepted.flatMap(({ message, source, companion }) =>
    companion?.keepsSource ? [] : [{ messageId: message.id, source }],
  )
  if (bodies.length > 0) queries.insertBodies(tx, bodies)
  await storeRecipients(tx, accepted)
  countHeld(
    tx,
    accepted.flatMap(({ queue }) => queue.flatMap(row => row.suspension_id ?? [])),
  )
}

async function storeCompanions(tx: Tx, decisions: readonly (Accepted | Kept)[], known: Known): Promise<void> {
  const stored = decisions.flatMap(({ kind, companion, response }) =>
    companion ? [{ companion, response, isKept: kind === 'kept' }] : [],
  )
  if (stored.length > 0) await known.companions.store(tx, stored)
}

function keepResults(tx: Tx, decisions: readonly (Accepted | Kept)[]): void {
  const results = decisions.flatMap(({ newKey, companion }) =>
    newKey && companion?.result ? [{ ...newKey, result: companion.result }] : [],
  )
  if (results.length > 0) queries.updateResultsOfKeys(tx, results)
}

/**
 * The rows of ten thousand recipients, and their events, keep one core of the database busy for some tenths of a second. One
 * such batch at a time, over all processes: the other cores are everybody's.
 */
const lockLargeAppend = (tx: Tx): Promise<void> => takeLock(tx, locks.largeAppend)

const ROWS_AT_ONCE = 1_000

async function storeRecipients(tx: Tx, accepted: readonly Accepted[]): Promise<void> {
  const deliveries = accepted.flatMap(decision => decision.deliveries)
  const queue = accepted.flatMap(decision => decision.queue)
  for (let start = 0; start < deliveries.length; start += ROWS_AT_ONCE) {
    if (start > 0) await yieldToEventLoop()
    const end = start + ROWS_AT_ONCE
    enqueue(tx, deliveries.slice(start, end), queue.slice(start, end))
  }
}

/** A twin that was accepted since we looked has the key: the whole batch is decided again. */
async function takeKeys(tx: Tx, decisions: readonly (Accepted | Kept)[]): Promise<void> {
  const keys = decisions.flatMap(({ newKey }) => newKey ?? [])
  if (keys.length === 0) return
  const taken = await queries.insertIdempotencyKeys(tx, keys, oldestKey(tx.now))
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
