// What becomes of one submission: accepted with so many queued, held and suppressed, a duplicate, or refused. Pure
// but for the counters of the batch, which each decision moves on for the next.
import type { PausesByAccount } from '../../control/suspensions/active.ts'
import { scopeName } from '../../control/suspensions/scopes.ts'
import { timeOfId } from '../../platform/ids.ts'
import type { AuditDraft, EventDraft } from '../../platform/journal/append.ts'
import { notFound, refuse, type Refusal } from '../../platform/refusal.ts'
import { sameBytes } from '../../platform/secrets.ts'
import type { SendResponse } from './send-schema.ts'
import type { DeliveryRow, QueueRow } from '../queue/enqueue.ts'
import { usedOtherwise } from './idempotency.ts'
import { RANK_STEP_MS, RECIPIENTS_MAX } from './limits.ts'
import type { KnownKey, MessageRow, NewKey, TenantRow, UsageRow } from './queries.ts'
import type { CompanionsOfBatch } from './companions.ts'
import type { Companion, Recipient, Submission } from './submission.ts'
import { add, current, refusalOf } from './windows.ts'

/** What the database says, for a whole batch. */
export interface Known {
  /** By id; replaced by the next state as recipients are counted. */
  tenants: Map<string, TenantRow>
  /** Tenants whose counters are locked, so that their counts are the truth; the others have no limits. */
  locked: ReadonlySet<string>
  usage: Map<string, UsageRow>
  /** `tenant name` → domain id. */
  domains: ReadonlyMap<string, string>
  keys: Map<string, KnownKey>
  pauses: PausesByAccount
  /** `tenant address` of suppressed recipients. */
  suppressed: ReadonlySet<string>
  companions: CompanionsOfBatch
}

export type Decision =
  | { kind: 'refused'; refusal: Error; events: EventDraft[] }
  | { kind: 'duplicate'; response: SendResponse; events: EventDraft[] }
  | { kind: 'kept'; response: SendResponse; events: EventDraft[]; newKey: NewKey | null; companion: Companion }
  | {
      kind: 'accepted'
      response: SendResponse
      events: EventDraft[]
      entry: AuditDraft
      message: MessageRow
      source: Buffer
      deliveries: DeliveryRow[]
      queue: QueueRow[]
      newKey: NewKey | null
      companion: Companion | null
    }

/** In this order: tenant, validation, idempotency, reject-pauses, quota and rate, its door, suppression, holds. */
export function decide(submission: Submission, known: Known, now: Date): Decision {
  const tenant = known.tenants.get(submission.tenantId)
  if (!tenant || tenant.account_id !== submission.accountId) return refused(notFound('tenant'))
  if (tenant.status === 'disabled') return refused(tenantDisabled())
  const domainId = isRelayed(submission) ? null : domainOf(submission, known)
  const invalid = validationRefusal(submission, tenant, domainId)
  if (invalid) return refused(invalid)
  const earlier = submission.idempotency && known.keys.get(`${submission.tenantId} ${submission.idempotency.key}`)
  if (earlier) return repeat(submission, earlier)
  const rejection = rejectionOf(submission, known.pauses)
  if (rejection) return rejection
  const wanted = submission.recipients.filter(each => !known.suppressed.has(`${submission.tenantId} ${each.address}`))
  const counters = current(tenant, now)
  const limited = refusalOf(counters, tenant, wanted.length, now)
  if (limited) return refused(limited)
  const admission = submission.companion ? known.companions.admit(submission.companion) : null
  if (admission?.kind === 'refuse') return refused(admission.refusal)
  if (admission?.kind === 'keep') return keep(submission, admission.id, known)
  const firstRank = firstRankOf(tenant, now)
  const rank = new Date(firstRank + wanted.length * RANK_STEP_MS)
  known.tenants.set(tenant.tenant_id, { ...tenant, ...add(counters, wanted.length), rank })
  count(known, tenant, { recipients: wanted.length, day: counters.day })
  return accept(submission, { tenant, domainId, wanted: new Set(wanted), firstRank, known })
}

/**
 * Behind the tenant's own mail, but not behind what others have waiting: a newcomer begins where the queue is being
 * served, which is in the past while there is more to send than can be sent.
 */
const firstRankOf = ({ rank, head }: TenantRow, now: Date): number =>
  Math.max(rank.getTime(), Math.min(now.getTime(), head?.getTime() ?? Infinity))

const domainOf = ({ tenantId, senderDomain }: Submission, { domains }: Known): string | null =>
  domains.get(`${tenantId} ${senderDomain}`) ?? null

const isRelayed = ({ relayInboxId }: Submission): boolean => (relayInboxId ?? null) !== null

/** Nothing of a sandbox leaves, through whomever. */
const relayOf = ({ relayInboxId }: Submission, isSandbox: boolean): { relay_inbox_id?: string } =>
  relayInboxId && !isSandbox ? { relay_inbox_id: relayInboxId } : {}

const refused = (refusal: Error, events: EventDraft[] = []): Decision => ({ kind: 'refused', refusal, events })

export const recipientsMaxOf = (tenant: Pick<TenantRow, 'max_recipients_per_message'>): number =>
  Math.min(tenant.max_recipients_per_message, RECIPIENTS_MAX)

export const tooManyRecipients = (max: number): Refusal =>
  refuse('too_many_recipients', `A message of this tenant may have at most ${max} recipients.`)

function validationRefusal(submission: Submission, tenant: TenantRow, domainId: string | null): Refusal | null {
  const recipientsMax = recipientsMaxOf(tenant)
  if (submission.recipients.length > recipientsMax) return tooManyRecipients(recipientsMax)
  if (domainId === null && !tenant.sandbox && !isRelayed(submission)) {
    return refuse('domain_not_verified', `The domain ${submission.senderDomain} is not verified for this tenant.`)
  }
  return null
}

function repeat({ idempotency }: Submission, earlier: KnownKey): Decision {
  if (!sameBytes(earlier.body_hash, idempotency!.bodyHash)) {
    return refused(usedOtherwise())
  }
  return { kind: 'duplicate', response: { ...earlier.response, duplicate: true }, events: [] }
}

/** A reject-pause that matches any recipient refuses the whole submission, and that is an event. */
function rejectionOf(submission: Submission, pauses: PausesByAccount): Decision | null {
  const rejecting = pauses.rejectingOf(submission.accountId)?.ofMessage(submission)
  if (!rejecting) return null
  for (const { domain } of submission.recipients) {
    const pause = rejecting(domain)
    if (!pause) continue
    const event = {
      type: 'rejected',
      accountId: submission.accountId,
      tenantId: submission.tenantId,
      data: { suspension_id: pause.id, scope: scopeName(pause), recipients: submission.recipients.length },
    }
    const refusal = refuse('sending_suspended', `Sending is paused for ${scopeName(pause)}.`)
    return refused(refusal, submission.refusedBefore === refusal.message ? [] : [event])
  }
  return null
}

function count(known: Known, tenant: TenantRow, { recipients, day }: { recipients: number; day: string }): void {
  const usage = known.usage.get(tenant.tenant_id)
  known.usage.set(tenant.tenant_id, {
    tenant_id: tenant.tenant_id,
    account_id: tenant.account_id,
    day,
    recipients: (usage?.recipients ?? 0) + recipients,
    messages: (usage?.messages ?? 0) + 1,
  })
}

interface Circumstances {
  tenant: TenantRow
  domainId: string | null
  /** Recipients that are not suppressed. */
  wanted: ReadonlySet<Recipient>
  firstRank: number
  known: Known
}

function accept(submission: Submission, circumstances: Circumstances): Decision {
  const { tenant, domainId, known } = circumstances
  const sorted = sortRecipients(submission, circumstances)
  const { response } = sorted
  return {
    kind: 'accepted',
    ...sorted,
    message: messageRow(submission, domainId, tenant.sandbox),
    source: submission.source,
    entry: auditEntry(submission, response),
    newKey: takeKey(submission, response, known),
    companion: submission.companion ?? null,
  }
}

/** Its door keeps it: nothing is counted, and a repetition is answered as this one is. */
function keep(submission: Submission, id: string, known: Known): Decision {
  const response: SendResponse = { message_id: id, queued: 0, held: 0, suppressed: 0, duplicate: false }
  const newKey = takeKey(submission, response, known)
  return { kind: 'kept', response, events: [], newKey, companion: submission.companion! }
}

function takeKey({ tenantId, idempotency }: Submission, response: SendResponse, known: Known): NewKey | null {
  if (!idempotency) return null
  const { key, bodyHash } = idempotency
  known.keys.set(`${tenantId} ${key}`, { tenant_id: tenantId, key, body_hash: bodyHash, response })
  return { tenantId, key, bodyHash, madeId: response.message_id, response }
}

/** One object for all of them, and one per pause: the journal writes it down once. */
const NO_DATA = {}

/** Each recipient's state: suppressed, held or queued, with its events. */
function sortRecipients(submission: Submission, { tenant, wanted, firstRank, known }: Circumstances) {
  const { messageId, accountId, tenantId } = submission
  const pauseOf = known.pauses.of(accountId)?.ofMessage(submission)
  const response: SendResponse = { message_id: messageId, queued: 0, held: 0, suppressed: 0, duplicate: false }
  const events: EventDraft[] = []
  const deliveries: DeliveryRow[] = []
  const queue: QueueRow[] = []
  const relay = relayOf(submission, tenant.sandbox)
  const heldData = new Map<string, { suspension_id: string; scope: string }>()
  submission.recipients.forEach((recipient, n) => {
    const isWanted = wanted.has(recipient)
    const ids = { message_id: messageId, n, account_id: accountId, tenant_id: tenantId, recipient: recipient.address }
    const happened = (type: string, data: object = NO_DATA): void =>
      void events.push({ type, accountId, tenantId, messageId, recipient: recipient.address, data })
    deliveries.push({ ...ids, kind: recipient.kind, status: isWanted ? 'open' : 'suppressed' })
    if (!isWanted) {
      response.suppressed += 1
      return happened('suppressed')
    }
    happened('accepted')
    const pause = pauseOf?.(recipient.domain) ?? null
    if (pause) {
      const data = heldData.get(pause.id) ?? { suspension_id: pause.id, scope: scopeName(pause) }
      heldData.set(pause.id, data)
      response.held += 1
      response.hold_scope ??= data.scope
      happened('held', data)
    } else response.queued += 1
    queue.push({
      ...ids,
      recipient_domain: recipient.domain,
      status: pause ? 'held' : 'queued',
      rank: new Date(firstRank + queue.length * RANK_STEP_MS),
      suspension_id: pause?.id ?? null,
      ...relay,
    })
  })
  return { response, events, deliveries, queue }
}

const messageRow = (submission: Submission, domainId: string | null, isSandbox: boolean): MessageRow => ({
  id: submission.messageId,
  account_id: submission.accountId,
  tenant_id: submission.tenantId,
  api_key_id: submission.apiKeyId,
  credential_id: submission.credentialId,
  domain_id: domainId,
  sender: submission.sender,
  sender_domain: submission.senderDomain,
  from_header: submission.fromHeader,
  subject: submission.subject,
  rfc_message_id: submission.rfcMessageId,
  tags: submission.tags,
  metadata: submission.metadata,
  size: submission.source.length,
  recipients: submission.recipients.length,
  is_sandbox: isSandbox,
  needs_smtputf8: submission.needsSmtputf8,
  has_unsubscribe: submission.hasUnsubscribe,
  ...relayOf(submission, isSandbox),
  created_at: timeOfId(submission.messageId),
})

const auditEntry = (submission: Submission, { queued, held, suppressed }: SendResponse): AuditDraft => ({
  action: 'message.send',
  by: submission.by,
  accountId: submission.accountId,
  tenantId: submission.tenantId,
  ...auditedOf(submission, { from: submission.sender, queued, held, suppressed }),
})

/** An approval or a draft that was sent is what somebody acted on; the message is what came of it. */
const auditedOf = ({ companion, messageId }: Submission, after: object): Pick<AuditDraft, 'target' | 'after'> =>
  companion?.target
    ? { target: companion.target, after: { message_id: messageId, ...after } }
    : { target: { type: 'message', id: messageId }, after }

export const tenantDisabled = (): Refusal => refuse('tenant_disabled', 'This tenant is disabled and cannot send.')
