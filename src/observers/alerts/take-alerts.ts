// Alerts are made from the journal: one from every `anomaly_detected` event, of any feature, and a notification for
// every contact that wants to hear of it. The same tail follows what becomes of alert mails. Its cursor and these rows are
// one transaction.
import type { Tx } from '../../platform/db/database.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Tail } from '../../platform/work/worker.ts'
import type { World } from '../../platform/world.ts'
import { SEVERITIES } from './contract.ts'
import { followMails } from './mail-outcome.ts'
import { insertAlerts, insertNotifications, listAnomalies, type AnomalyEvent, type NewAlert } from './queries.ts'

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
  const alerts = (await listAnomalies(tx, range)).flatMap(alertOf)
  if (alerts.length === 0) return
  const fresh = await insertAlerts(tx, alerts)
  if (fresh.length > 0) await insertNotifications(tx, fresh)
}

/** None for an event without an alert's id: the tail must go on whatever stands in the journal. */
function alertOf({ account_id, tenant_id, created_at, data }: AnomalyEvent): NewAlert[] {
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
