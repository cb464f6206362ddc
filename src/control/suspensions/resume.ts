// Ending a pause. What it holds is released, reassigned or cancelled behind the answer; how many are released or cancelled
// is certain at once, for nobody can add to a pause while the account is locked, nor after.
import { setTimeout as delay } from 'node:timers/promises'
import type { Actor } from '../../platform/db/actor.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { atOnce, type AtOnce } from '../../platform/fairness/at-once.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { lockAccountExclusively } from './locks.ts'
import type { ResumeOrder, Suspension } from './contract.ts'
import { countKept } from './overlap-queries.ts'
import { coverOf, covers, mayOverlap } from './overlap.ts'
import { nameOf, shownScope } from './pause.ts'
import { isBeingParked } from './progress.ts'
import {
  listActiveOfAccounts,
  listMovingTo,
  sumHeld,
  updateJoined,
  updateResumed,
  type ActiveSuspension,
} from './queries.ts'

interface Resume {
  accountId: string
  /** Throws when there is nothing to resume. */
  find: (db: Db) => Promise<Suspension>
  order: ResumeOrder
  isOperator: boolean
}

type Resumed = Suspension & { affected_deliveries: number }

/** Pauses have changed since they were read, or an earlier resume still moves mail: the resume is tried again. */
const CHANGED = Symbol('changed')
const RETRY_DELAY_MS = 50
/** An earlier resume reassigns 150,000 recipients in about this time. */
const WAIT_MS_MAX = 8_000
/**
 * Of an account one try at a time: the resume of a pause changes what the others of its account have read, so that many at
 * once would make each other start again, some of them until they give up. Between its tries a resume lets others go on.
 */
const TRIES_AT_ONCE = { permits: Infinity, perOwner: 1, refusal: 'Too many pauses of this account are being resumed.' }

type Resuming = (by: Actor, wanted: Resume) => Promise<Resumed>

export function resumingWith(world: World): Resuming {
  const withPermit = atOnce(TRIES_AT_ONCE)
  return async (by, wanted) => {
    const resumed = await resume(world, by, wanted, withPermit)
    world.wakeups.hint('suspensions')
    return resumed
  }
}

/** A caller with nothing to resume is told so without waiting for others. */
async function resume(world: World, by: Actor, wanted: Resume, withPermit: AtOnce): Promise<Resumed> {
  const found = await findResumable(world.db, wanted)
  if (found.status === 'resumed') return withNothingAffected(found)
  const once = () => withPermit(wanted.accountId, () => world.db.transact(by, tx => tryToResume(tx, wanted)))
  const first = await once()
  if (first !== CHANGED) return first
  const deadline = performance.now() + WAIT_MS_MAX
  do {
    await delay(RETRY_DELAY_MS)
    const resumed = await once()
    if (resumed !== CHANGED) return resumed
  } while (performance.now() < deadline)
  throw refuse('unavailable', 'The queue still follows this pause. Try again in a moment.', { retryAfterSeconds: 2 })
}

async function findResumable(db: Db, { find, isOperator }: Resume): Promise<Suspension> {
  const suspension = await find(db)
  if (suspension.status === 'active' && suspension.source === 'operator' && !isOperator) {
    throw refuse('forbidden', 'The operator paused this account; only the operator can resume it.')
  }
  return suspension
}

/** One that was resumed before is answered as it is. */
const withNothingAffected = (suspension: Suspension): Resumed => ({ ...suspension, affected_deliveries: 0 })

async function tryToResume(tx: Tx, wanted: Resume): Promise<Resumed | typeof CHANGED> {
  const { accountId, order } = wanted
  const suspension = await findResumable(tx, wanted)
  if (suspension.status === 'resumed') return withNothingAffected(suspension)
  const action = order.action ?? 'release'
  // What is not parked yet would go out after a purge that did not know of it.
  if (action === 'purge' && (await isBeingParked(tx, { id: suspension.id, accountId }))) return CHANGED
  const from = { ...suspension, account_id: accountId }
  // The long count first, while mail goes on. With the lock it is repeated only where mail came or went meanwhile.
  const before = await planOf(tx, from, action)
  const early = before === CHANGED ? null : await countEarly(tx, before)
  await lockAccountExclusively(tx, accountId)
  const plan = await planOf(tx, from, action)
  if (before === CHANGED || plan === CHANGED || namesOf(plan) !== namesOf(before)) return CHANGED
  const { held, kept } = await countHeld(tx, plan, early)
  const affected = held - kept
  const { id } = suspension
  // Where nothing is kept nothing is moved, and nobody who resumes one of the others has to wait for that.
  const keptBy = kept > 0 ? plan.others.map(other => other.id) : []
  if (plan.sources.length > 1) await updateJoined(tx, { ids: plan.sources.slice(1), action, keptBy })
  const resumedBy = nameOf(tx.by)
  const resumed = await updateResumed(tx, { id, action, note: order.note ?? null, resumedBy, keptBy, affected })
  noteResumed(tx, accountId, resumed)
  return resumed
}

interface Plan {
  from: ActiveSuspension
  /** The pause itself, and those resumed before whose mail has become its own but was not moved yet. */
  sources: string[]
  /** The active pauses that may keep a part. */
  others: ActiveSuspension[]
}

const namesOf = ({ sources, others }: Plan): string => [...sources, ...others.map(other => other.id)].join()

/**
 * An earlier resume may be reassigning a part of its mail to this pause. How much that is becomes known when it is done, so
 * this resume waits for it.
 */
async function planOf(tx: Tx, from: ActiveSuspension, action: 'release' | 'purge'): Promise<Plan | typeof CHANGED> {
  const active = await listActiveOfAccounts(tx, [from.account_id])
  if (!active.some(pause => pause.id === from.id)) return CHANGED
  const moving = await listMovingTo(tx, from)
  for (const each of moving) {
    const keepers = active.filter(pause => each.kept_by.includes(pause.id))
    if (coverOf(keepers, each)?.id !== from.id) return CHANGED
  }
  const others = active.filter(pause => pause.id !== from.id && mayOverlap(from, pause))
  return { from, sources: [from.id, ...moving.map(each => each.id)], others: action === 'purge' ? [] : others }
}

interface Early {
  /** Of the counts of the pauses, before their mail was counted. */
  fingerprint: string
  /** How much of their mail others keep. */
  kept: number
}

const isPartial = ({ from, others }: Plan): boolean => others.length > 0 && !others.some(other => covers(other, from))

async function countEarly(tx: Tx, plan: Plan): Promise<Early | null> {
  if (!isPartial(plan)) return null
  const { held, fingerprint } = await sumHeld(tx, plan.sources)
  return { fingerprint, kept: await countKept(tx, { ...plan, accountId: plan.from.account_id, held }) }
}

/** All that it holds, and how much of it others keep. Counted again where mail came or went while it was counted. */
async function countHeld(tx: Tx, plan: Plan, early: Early | null): Promise<{ held: number; kept: number }> {
  const { held, fingerprint } = await sumHeld(tx, plan.sources)
  if (!isPartial(plan)) return { held, kept: plan.others.length === 0 ? 0 : held }
  if (early?.fingerprint === fingerprint) return { held, kept: early.kept }
  return { held, kept: await countKept(tx, { ...plan, accountId: plan.from.account_id, held }) }
}

function noteResumed(tx: Tx, accountId: string, resumed: Resumed): void {
  const { id, tenant_id: tenantId, resume_action: action, resume_note: note, affected_deliveries } = resumed
  const scope = shownScope(resumed)
  const data = { suspension_id: id, ...scope, action, affected_deliveries }
  tx.record({ type: 'resumed', accountId, tenantId, data })
  tx.audit({
    accountId,
    tenantId,
    target: { type: 'suspension', id },
    before: { status: 'active', ...scope },
    after: { status: 'resumed', ...scope, action, note, affected_deliveries },
  })
}
