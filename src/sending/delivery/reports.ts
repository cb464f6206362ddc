// What is learned about deliveries after they were made: bounces that come back by mail, complaints, and wishes to be left
// alone. All that one mail says is one transaction, however many recipients it names.
import { suppress } from '../../control/feedback/suppress.ts'
import type { BounceClass } from '../../mail/reports/bounce-classes.ts'
import type { SmtpReply } from '../../mail/reports/smtp-reply.ts'
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import {
  isAnyBeingSent,
  listDeliveriesForUpdateAnywhere,
  updateStatuses,
  type DeliveryRef,
  type StatusChange,
} from '../queue/late-reports.ts'
import { aboutOf } from '../queue/keys.ts'
import { clip } from './verdict.ts'

/** Whom a report is about. */
type Reported =
  /** The return path was this recipient's own. */
  | { messageId: string; n: number }
  /**
   * Recipients shared the return path, and the report names one of them. Each of them could have written it, so it marks that
   * recipient of the same transaction and has no other consequence. Without an envelope: of a form no longer handed out.
   */
  | { messageId: string; recipient: string; envelope: number | null }

interface LateVerdict {
  class: BounceClass
  rule: string
  reply: SmtpReply
}

interface BounceFinding {
  kind: 'bounce'
  about: Reported
  /** What the report says of this address, if anything. */
  verdictOn: (recipient: string) => LateVerdict | null
}

interface FeedbackFinding {
  kind: 'complaint' | 'opt-out'
  about: Reported
  detail: string | null
}

export type Finding = BounceFinding | FeedbackFinding

export type Change = 'bounced' | 'blocked' | 'complained' | 'unsubscribed' | 'suppressed'

/** Answers what changed. A report that is faster than our own record is to come again. */
export function recordFindings(world: World, findings: readonly Finding[]): Promise<Change[]> {
  if (findings.length === 0) return Promise.resolve([])
  return world.db.transact(system('report'), async tx => {
    const deliveries = await findReported(tx, findings)
    const open = [...deliveries.values()].filter(({ status }) => status === 'open')
    if (await isAnyBeingSent(tx, open)) {
      throw refuse('unavailable', 'What became of this mail is not recorded yet.')
    }
    const changes: Change[] = []
    for (const finding of findings) {
      const delivery = deliveries.get(keyOf(finding.about))
      const change = delivery && (await apply(tx, delivery, finding))
      if (change) changes.push(change)
    }
    return changes
  })
}

/** A complaint of the simulator's. */
export const recordComplaintReport = async (
  world: World,
  { messageId, n, detail }: { messageId: string; n: number; detail: string },
): Promise<void> => {
  await recordFindings(world, [{ kind: 'complaint', about: { messageId, n }, detail }])
}

const keyOf = (about: Reported): string =>
  'n' in about ? `${about.messageId} ${about.n}` : `${about.messageId} ${about.recipient.toLowerCase()}`

/** By the key of what was asked; one that was asked by number and by address is the same object. */
async function findReported(tx: Tx, findings: readonly Finding[]): Promise<Map<string, DeliveryRef>> {
  const abouts = findings.map(({ about }) => about)
  const found = await listDeliveriesForUpdateAnywhere(tx, {
    numbered: abouts.flatMap(about => ('n' in about ? [{ message_id: about.messageId, n: about.n }] : [])),
    addressed: abouts.flatMap(about =>
      'n' in about ? [] : [{ message_id: about.messageId, recipient: about.recipient }],
    ),
  })
  return new Map(
    found.flatMap(delivery => [
      [`${delivery.message_id} ${delivery.n}`, delivery] as const,
      [`${delivery.message_id} ${delivery.recipient.toLowerCase()}`, delivery] as const,
    ]),
  )
}

async function apply(tx: Tx, delivery: DeliveryRef, finding: Finding): Promise<Change | null> {
  const isShared = !('n' in finding.about)
  if ('envelope' in finding.about && finding.about.envelope !== null && finding.about.envelope !== delivery.envelope) {
    return null
  }
  switch (finding.kind) {
    case 'bounce': {
      const verdict = finding.verdictOn(delivery.recipient)
      return verdict && bounce(tx, delivery, verdict, { isShared })
    }
    case 'complaint': {
      if (isShared) return (await mark(tx, delivery, finding.detail, { isShared })) ? 'complained' : null
      const { complained, isNews } = await markComplained(tx, delivery, finding.detail)
      return complained ? 'complained' : isNews ? 'suppressed' : null
    }
    case 'opt-out':
      return isShared ? null : unsubscribe(tx, delivery, finding.detail)
  }
}

/** Only what counted as delivered changes. */
async function bounce(
  tx: Tx,
  delivery: DeliveryRef,
  { class: bounceClass, rule, reply }: LateVerdict,
  { isShared }: { isShared: boolean },
): Promise<Change | null> {
  if (bounceClass === 'transient' || delivery.status !== 'delivered') return null
  const status = bounceClass === 'block' ? 'blocked' : 'bounced'
  const bounceType = bounceClass === 'block' ? null : bounceClass
  const response = clip(reply.text)
  const said = { response, smtp_code: reply.code || null, enhanced_code: reply.enhanced }
  await change(tx, delivery, { status, bounce_type: bounceType, ...said })
  tx.record({
    type: status,
    ...aboutOf(delivery),
    data: {
      ...(bounceType !== null && { bounce_type: bounceType }),
      rule,
      ...(reply.code > 0 && { smtp_code: reply.code }),
      enhanced_code: reply.enhanced,
      response,
      late: true,
      ...(isShared && { shared: true }),
    },
  })
  if (bounceType === 'hard' && !isShared) {
    await suppress(tx, [{ ...aboutOf(delivery), address: delivery.recipient, reason: 'hard_bounce', detail: response }])
  }
  return status
}

/**
 * A recipient who complained about a mail that was delivered is not written to again by any tenant of the account. What was
 * never delivered cannot be complained about, so that such a report says something about its sender only: the address is
 * suppressed for the tenant alone, unless the account itself says it. A repeated complaint changes nothing more: it is
 * no news.
 */
export async function markComplained(
  tx: Tx,
  delivery: DeliveryRef,
  detail: string | null,
  { isOfAccount = false }: { isOfAccount?: boolean } = {},
) {
  const isForAll = isOfAccount || delivery.status === 'delivered' || delivery.status === 'complained'
  const about = { ...aboutOf(delivery), ...(isForAll && { tenantId: null }) }
  const suppressed = await suppress(tx, [{ ...about, address: delivery.recipient, reason: 'complaint', detail }])
  const complained = await mark(tx, delivery, detail, { isShared: false })
  return { complained, isNews: complained || suppressed > 0 }
}

async function mark(tx: Tx, delivery: DeliveryRef, detail: string | null, { isShared }: { isShared: boolean }) {
  if (delivery.status !== 'delivered') return false
  const said = { response: null, smtp_code: null, enhanced_code: null }
  await change(tx, delivery, { status: 'complained', bounce_type: null, ...said })
  const data = { ...(detail !== null && { detail }), ...(isShared && { shared: true }) }
  tx.record({ type: 'complained', ...aboutOf(delivery), data })
  return true
}

/** RFC 5965 §7.3: no word on the mail, only that no more of it is wanted. */
async function unsubscribe(tx: Tx, delivery: DeliveryRef, detail: string | null): Promise<Change | null> {
  const entry = { ...aboutOf(delivery), address: delivery.recipient, reason: 'unsubscribe' as const, detail }
  if ((await suppress(tx, [entry])) === 0) return null
  tx.record({ type: 'unsubscribed', ...aboutOf(delivery), data: detail === null ? {} : { detail } })
  return 'unsubscribed'
}

/** The row and what we know of it, so that a second finding in the same mail meets the new status. */
async function change(tx: Tx, delivery: DeliveryRef, to: Omit<StatusChange, 'message_id' | 'n'>): Promise<void> {
  const { message_id, n } = delivery
  await updateStatuses(tx, [{ message_id, n, ...to }])
  delivery.status = to.status
}
