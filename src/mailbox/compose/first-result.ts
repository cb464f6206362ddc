// How a request is answered whose idempotency key was used before.
import type { Reach } from '../../platform/principal.ts'
import { Refusal, refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { bodyHash, findAnswerWithin } from '../../sending/messages/idempotency.ts'
import type { SendResponse } from '../../sending/messages/send-schema.ts'
import { findComposed, listThreadsOf } from '../messages/insert.ts'
import type { ComposeOrder } from './compose.ts'
import type { Composed } from './compose-schema.ts'
import type { Composing } from './composing.ts'
import { countDeliveriesAnywhere } from './count-queries.ts'
import { statusOf } from './mail.ts'

/** What a repetition must be the same in. */
interface Repeatable extends Pick<ComposeOrder, 'kind' | 'originalId' | 'body' | 'idempotencyKey'> {
  /** Of a new mail. That of a reply or forward is known from its original, unless that was deleted. */
  inboxId?: string
}

/** Of mail that is sent at once and of mail that is sent later: a key stands for one request. */
export const sameAs = ({ kind, inboxId, originalId, body }: Repeatable): Readonly<Record<string, unknown>> => {
  const about = originalId === undefined ? { inbox: inboxId?.toLowerCase() } : { original: originalId.toLowerCase() }
  return { ...body, compose: { kind, ...about } }
}

/**
 * The mail of a repetition was accepted the first time. That it would be refused by now, because its original was deleted,
 * its inbox paused or its policy changed meanwhile, is not what its caller must hear: that would send it again elsewhere.
 */
export async function orFirstResult(
  world: World,
  { composing, reach, request }: { composing: Composing; reach: Reach; request: Repeatable },
  act: () => Promise<Composed>,
): Promise<Composed> {
  try {
    return await act()
  } catch (error) {
    const isFinal = error instanceof Refusal && error.status < 500
    const first =
      isFinal && error.code !== 'tenant_disabled' && (await findFirstResult(world, composing, reach, request))
    if (!first) throw error
    return first
  }
}

async function findFirstResult(world: World, composing: Composing, reach: Reach, request: Repeatable) {
  const { idempotencyKey: key } = request
  if (key === undefined) return null
  const narrowed = await narrowedReach(world, composing, reach, request)
  if (!narrowed) return null
  const hash = await world.slices.run(bodyHash(sameAs(request)), [reach.accountId])
  const answer = await findAnswerWithin(world.db, narrowed, { key, bodyHash: hash, now: world.clock.now() })
  if (!answer) return null
  const first = 'scheduled_at' in answer ? repeated(answer) : await firstResult(world, reach, answer as SendResponse)
  return reach.inboxId === null || reach.inboxId === first.inbox_id ? first : null
}

/**
 * To the tenant of its inbox: an account may have thousands, and each would be asked. Which inbox a reply was for nobody knows
 * once its original is deleted. Null: the inbox is deleted, or was never within reach.
 */
async function narrowedReach(
  { db }: World,
  { requireInbox }: Composing,
  reach: Reach,
  { inboxId, originalId }: Repeatable,
): Promise<Reach | null> {
  const id = inboxId ?? (await listThreadsOf(db, [originalId!]))[0]?.inbox_id
  if (id === undefined) return reach
  try {
    return { ...reach, tenantId: (await requireInbox(reach, id)).tenant_id }
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return null
    throw error
  }
}

export const repeated = (first: object): Composed => ({ ...(first as Composed), duplicate: true })

/**
 * A mail that was accepted is answered as it was first. One that waited for an approval is answered as it stands by now,
 * unless it was deleted.
 */
export async function firstResult(
  { db }: World,
  reach: Reach,
  response: SendResponse & { result?: Composed },
): Promise<Composed> {
  const { result = null } = response
  if (result?.approval_id === null) return repeated(result)
  const row = await findComposed(db, reach, response.message_id)
  if (!row && result) return repeated(result)
  if (!row) throw refuse('idempotency_conflict', 'This idempotency key was used for a mail that no longer exists.')
  const { id, inbox_id, thread_id, message_id, approval_id } = row
  const isApproved = approval_id !== null && message_id !== null
  const { queued, held, suppressed } = isApproved ? await countsOf(db, message_id) : response
  return {
    id,
    inbox_id,
    thread_id,
    status: approval_id === null ? statusOf({ queued, held }) : (row.status as Composed['status']),
    message_id,
    approval_id,
    scheduled_at: null,
    queued,
    held,
    suppressed,
    duplicate: true,
  }
}

/** Recipients of an approved mail. Those whose delivery has ended were queued. */
async function countsOf(db: World['db'], messageId: string): Promise<Pick<Composed, 'queued' | 'held' | 'suppressed'>> {
  const { held = 0, suppressed = 0, ...others } = await countDeliveriesAnywhere(db, messageId)
  // Held ones are among those that are open.
  const queued = Object.values(others).reduce((sum, count) => sum + count, -held)
  return { queued, held, suppressed }
}
