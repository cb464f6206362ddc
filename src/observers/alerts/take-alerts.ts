// Alerts are made from the journal: one from every `anomaly_detected` event, of any feature, and a notification for
// every contact that wants to hear of it; and where the account wants it, one for every contact with a mail address from
// every approval that is asked for. The same tail follows what becomes of alert mails. Its cursor and these rows are one
// transaction.
import type { Tx } from '../../platform/db/database.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Tail } from '../../platform/work/worker.ts'
import type { World } from '../../platform/world.ts'
import { SEVERITIES } from './contract.ts'
import {
  APPROVAL_MAILS_PER_DAY_MAX,
  listMailOutcomes,
  updateMailDelivered,
  updateMailFailed,
  type MailOutcome,
} from './mail-queries.ts'
import {
  insertAlerts,
  insertApprovalNotifications,
  insertNotifications,
  listTellable,
  type NewAlert,
  type TellableEvent,
} from './queries.ts'

/**
 * Told which ids are next, so that the millions of other events stay in the database, and twice a second at the most: a round
 * for every append would cost the senders more than an alert is in a hurry.
 */
export const alertTail: Tail = {
  kind: 'tail',
  name: 'alerts',
  batchMax: 10_000,
  restMs: () => 500,
  read: takeAlerts,
  committed: world => world.wakeups.hint('alerts'),
}

async function takeAlerts(_world: World, tx: Tx, range: { after: number; upTo: number }): Promise<void> {
  await followMails(tx, range)
  const events = await listTellable(tx, range)
  const alerts = events.filter(({ type }) => type === 'anomaly_detected').flatMap(alertOf)
  const fresh = alerts.length > 0 ? await insertAlerts(tx, alerts) : []
  if (fresh.length > 0) await insertNotifications(tx, fresh)
  const approvals = approvalsOf(events.filter(({ type }) => type === 'approval.required'))
  if (approvals.length === 0) return
  const day = tx.now.toISOString().slice(0, 10)
  await insertApprovalNotifications(tx, approvals, { day, mailsMax: APPROVAL_MAILS_PER_DAY_MAX })
}

/** As many of each account as it may get mails in a day: a row for each of the others would only be given up. */
function approvalsOf(events: readonly TellableEvent[]): { approvalId: string; accountId: string }[] {
  const taken = new Map<string, number>()
  return events.flatMap(({ account_id: accountId, data: { approval_id: approvalId } }) => {
    const before = taken.get(accountId) ?? 0
    if (!isUuid(approvalId) || before >= APPROVAL_MAILS_PER_DAY_MAX) return []
    taken.set(accountId, before + 1)
    return [{ approvalId, accountId }]
  })
}

/** None for an event without an alert's id: the tail must go on whatever stands in the journal. */
function alertOf({ account_id, tenant_id, created_at, data }: TellableEvent): NewAlert[] {
  const { alert_id: id, kind, severity, title, scope, rule_id, rule, ...facts } = data
  if (!isUuid(id)) return []
  return [
    {
      id,
      account_id,
      tenant_id,
      kind: textOf(kind) ?? 'other',
      severity: SEVERITIES.find(each => each === severity) ?? 'warning',
      title: textOf(title) ?? '',
      scope: textOf(scope),
      rule_id: isUuid(rule_id) ? rule_id : null,
      rule_name: textOf(rule),
      data: facts,
      created_at,
    },
  ]
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const ERROR_LENGTH_MAX = 300

/**
 * What became of an alert that went out as mail. Accepting it into the queue says nothing yet: it may be held, or bounce, and
 * a contact that is told so early would be believed to know.
 */
async function followMails(tx: Tx, range: { after: number; upTo: number }): Promise<void> {
  for (const outcome of await listMailOutcomes(tx, range)) {
    if (!isUuid(outcome.notification_id)) continue
    if (outcome.type === 'delivered') await updateMailDelivered(tx, outcome.notification_id)
    else await updateMailFailed(tx, outcome.notification_id, errorOf(outcome))
  }
}

const SAID: Record<Exclude<MailOutcome['type'], 'delivered'>, string> = {
  bounced: 'The mail bounced',
  blocked: 'The mail was refused',
  expired: 'The mail could not be delivered in time',
  cancelled: 'The mail was cancelled',
  complained: 'The mail was reported as unwanted',
}

function errorOf({ type, response }: MailOutcome): string {
  const said = SAID[type as keyof typeof SAID]
  const text = response ? `${said}: ${response.replace(/\p{Cc}+/gu, ' ')}` : `${said}.`
  return text.slice(0, ERROR_LENGTH_MAX).toWellFormed()
}
