// Something that a person should hear about: an `anomaly_detected` event. The alerts are made from these events, so any
// floor can raise one by recording what it found.
import type { Tx } from '../db/database.ts'
import { newId } from '../ids.ts'
import type { EventDraft } from './append.ts'

export type Severity = 'info' | 'warning' | 'critical'

interface Anomaly extends Omit<EventDraft, 'type' | 'inboxId' | 'data'> {
  /** What sort of thing it is: `rule`, `domain_unverified`, `webhook_disabled`, `message_set_aside`. */
  kind: string
  severity: Severity
  /** One sentence for a person. */
  title: string
  /** `type:value`, where it is about a scope that can be paused. */
  scope?: string | null
  /** Facts, by name. */
  facts?: object
}

/** Answers the id that the alert will have. */
export function raise(tx: Tx, { kind, severity, title, scope = null, facts = {}, ...about }: Anomaly): string {
  const alertId = newId(tx.now)
  tx.record({
    type: 'anomaly_detected',
    ...about,
    data: { alert_id: alertId, kind, severity, title, scope, ...facts },
  })
  return alertId
}
