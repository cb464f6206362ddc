// The dashboard: the last 24 hours, every tenant's health and, for the account itself, what waits, what was raised and
// what is paused.
import type { Static } from 'typebox'
import { get, key, operator } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Counters } from '../metrics/counters.ts'
import { QueueDepth } from '../queue/depth.ts'
import { standingFields } from '../reputation/health.ts'

export const SUSPENSIONS_MAX = 100

const ActiveSuspension = NamedObject('ActiveSuspension', {
  id: Uuid(),
  scope: Type.String({ description: '`type:value`' }),
  tenant_id: Nullable(Uuid({ description: 'The tenant that the scope lies in; null when it may span tenants' })),
  only_tenant: Type.Boolean({ description: 'Of the scope, only the mail of that tenant' }),
  reason: Nullable(Type.String()),
  queue_action: Type.Enum(['hold', 'reject']),
  created_at: DateTime(),
})
export type ActiveSuspension = Static<typeof ActiveSuspension>

const everybodysFields = {
  totals_24h: Counters,
  tenants: Type.Array(
    Type.Object({
      tenant_id: Uuid(),
      name: Type.String(),
      ...standingFields,
      rates: Type.Object({ bounce: Type.Number(), block: Type.Number(), complaint: Type.Number() }),
    }),
  ),
}

const accountsFields = {
  queue: QueueDepth,
  unacked_alerts: Int64({ description: 'How many alerts nobody has acknowledged' }),
  active_suspensions: Type.Array(ActiveSuspension, {
    description: `The newest ${SUSPENSIONS_MAX}, newest first`,
  }),
  active_suspensions_count: Int64({ description: 'All of them' }),
}

/** A tenant's key gets its own slice; what concerns the account is left out, not zeroed. */
const Overview = NamedObject('Overview', {
  ...everybodysFields,
  ...Type.Partial(Type.Object(accountsFields)).properties,
})

const AccountOverview = Type.Object({ ...everybodysFields, ...accountsFields })
export type AccountOverview = Static<typeof AccountOverview>

/** The account as the operator's list of accounts shows it. */
const AccountRecord = NamedObject('AccountRecord', {
  id: Uuid(),
  name: Type.String(),
  status: Type.Enum(['active', 'paused']),
  data_region: Type.String(),
  suspend_mode: Type.Enum(['hold', 'reject']),
  hold_ttl_seconds: Int64(),
  body_retention_days: Int64(),
  metadata_retention_days: Int64(),
  hide_suppression_reason: Type.Boolean(),
  require_outbound_tls: Type.Boolean(),
  legal_hold: Type.Boolean(),
  approval_links: Type.Boolean(),
  sandbox: Type.Boolean(),
  tier: Type.String(),
  ai_enabled: Type.Boolean(),
  ai_monthly_token_cap: Int64(),
  webhooks_max: Int64(),
  created_at: DateTime(),
})
export type AccountRecord = Static<typeof AccountRecord>

export const getOverviewEndpoint = get('/v1/overview', {
  summary: 'Dashboard: totals and health of the last 24 hours; for account keys also queue, alerts and pauses',
  access: key('read'),
  isLargeRead: true,
  replies: { 200: Overview },
})

export const getAccountHealthEndpoint = get('/admin/v1/accounts/{id}/health', {
  summary: "An account's overview and its record",
  access: operator,
  replies: {
    200: NamedObject('AccountHealth', { ...AccountOverview.properties, account: AccountRecord }),
  },
})
