// How a request is answered whose idempotency key was used before.
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { SendResponse } from '../../sending/messages/send-schema.ts'
import { findComposed } from '../messages/insert.ts'
import type { Composed } from './compose-schema.ts'
import { countDeliveriesAnywhere } from './status-queries.ts'
import { statusOf } from './status.ts'

/** A mail that was accepted is answered as it was first. One that waited for an approval is answered as it stands by now. */
export async function firstResult({ db }: World, reach: Reach, response: SendResponse): Promise<Composed> {
  const row = await findComposed(db, reach, response.message_id)
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
  const { held = 0, suppressed = 0, ...others } = (await countDeliveriesAnywhere(db, [messageId])).get(messageId) ?? {}
  // Held ones are among those that are open.
  const queued = Object.values(others).reduce((sum, count) => sum + count, -held)
  return { queued, held, suppressed }
}
