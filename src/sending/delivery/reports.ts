// What is learned about a delivery after it was made: bounces that come back by mail, and complaints.
import { suppress } from '../../control/feedback/suppress.ts'
import type { BounceClass } from '../../mail/bounce-classes.ts'
import type { SmtpReply } from '../../mail/smtp-reply.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { World } from '../../platform/world.ts'
import { refuse } from '../../platform/refusal.ts'
import { clip } from './verdict.ts'
import {
  findDeliveryForUpdateAnywhere,
  findDeliveryNumberAnywhere,
  isBeingSent,
  updateDeliveryStatus,
  type DeliveryRef,
} from './queries.ts'

export interface Reported {
  messageId: string
  /** Null when the return path was shared: `recipient` then says whom it is about. */
  n: number | null
  recipient: string | null
}

export interface LateBounce extends Reported {
  reply: SmtpReply
  class: BounceClass
  rule: string
}

/**
 * A bounce that came back by mail. Only what counted as delivered changes; answers whether it did. One that is faster than
 * our own record is to come again.
 */
export function recordLateBounce(world: World, report: LateBounce): Promise<boolean> {
  if (report.class === 'transient') return Promise.resolve(false)
  return world.db.transact(system('bounce-report'), async tx => {
    const delivery = await findReported(tx, report)
    if (delivery?.status === 'open' && (await isBeingSent(tx, delivery))) {
      throw refuse('unavailable', 'What became of this mail is not recorded yet.')
    }
    if (delivery?.status !== 'delivered') return false
    const bounceType = report.class === 'hard' ? 'hard' : 'soft'
    const response = clip(report.reply.text)
    const { code, enhanced } = report.reply
    await updateDeliveryStatus(tx, delivery, { status: 'bounced', bounceType, code: code || null, enhanced, response })
    tx.record({
      type: 'bounced',
      ...aboutOf(delivery),
      data: {
        bounce_type: bounceType,
        rule: report.rule,
        ...(code > 0 && { smtp_code: code }),
        enhanced_code: enhanced,
        response,
        late: true,
      },
    })
    if (bounceType === 'hard') {
      await suppress(tx, [
        { ...aboutOf(delivery), address: delivery.recipient, reason: 'hard_bounce', detail: response },
      ])
    }
    return true
  })
}

export interface Complaint extends Reported {
  detail: string | null
}

/** A complaint from a feedback loop. */
export const recordComplaintReport = (world: World, complaint: Complaint): Promise<boolean> =>
  world.db.transact(system('complaint-report'), async tx => {
    const delivery = await findReported(tx, complaint)
    return delivery !== null && (await markComplained(tx, delivery, complaint.detail)).complained
  })

interface Complained {
  complained: boolean
  /** Something changed by it. */
  isNews: boolean
}

/**
 * Whoever complained is not written to again by any tenant of the account. Only a delivered mail becomes complained; a
 * repeated complaint changes nothing more.
 */
export async function markComplained(tx: Tx, delivery: DeliveryRef, detail: string | null): Promise<Complained> {
  const suppressed = await suppress(tx, [
    { ...aboutOf(delivery), tenantId: null, address: delivery.recipient, reason: 'complaint', detail },
  ])
  if (delivery.status !== 'delivered') return { complained: false, isNews: suppressed > 0 }
  await updateDeliveryStatus(tx, delivery, {
    status: 'complained',
    bounceType: null,
    code: null,
    enhanced: null,
    response: null,
  })
  tx.record({ type: 'complained', ...aboutOf(delivery), data: detail === null ? {} : { detail } })
  return { complained: true, isNews: true }
}

async function findReported(tx: Tx, { messageId, n, recipient }: Reported): Promise<DeliveryRef | null> {
  const number = n ?? (recipient === null ? null : await findDeliveryNumberAnywhere(tx, messageId, recipient))
  return number === null ? null : findDeliveryForUpdateAnywhere(tx, messageId, number)
}

const aboutOf = ({ account_id, tenant_id, message_id, recipient }: DeliveryRef) => ({
  accountId: account_id,
  tenantId: tenant_id,
  messageId: message_id,
  recipient,
})
