// What was used in a month, and what it is going to cost. No month is ever locked: charges are a preview.
import type { Static } from 'typebox'
import { get, key, operator } from '../../platform/http/contract.ts'
import { ExactInteger } from '../../platform/http/exact-integer.ts'
import { Cursor, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Month = Type.Optional(
  Type.String({ format: 'month', description: 'YYYY-MM, in UTC; the running month where it is omitted' }),
)

/** A list that most accounts read whole. What has more goes on with `cursor`. */
export const TENANTS_MAX = 5_000
const TenantLimit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: TENANTS_MAX, default: TENANTS_MAX, description: 'Tenants per page' }),
)

const used = {
  recipients: ExactInteger({ description: 'Recipients accepted: queued or held' }),
  messages: ExactInteger(),
}

const charged = {
  plan_id: Nullable(Uuid({ description: "The plan on the month's last day; null: none, and nothing is charged" })),
  plan_name: Nullable(Type.String()),
  currency: Nullable(Type.String()),
  base_minor: ExactInteger(),
  overage_minor: ExactInteger({ description: 'Rounded once, half a minor unit up' }),
  total_minor: ExactInteger(),
  recipients: used.recipients,
  included_recipients: ExactInteger(),
}

const ChargeLine = NamedObject('ChargeLine', {
  tenant_id: Nullable(Uuid({ description: "Null: the account's own charge, for all that its tenants sent" })),
  ...charged,
})
export type ChargeLine = Static<typeof ChargeLine>

const preview = Type.Boolean({ const: true, description: 'Always true: usage, plans and assignments may still change' })

export const getUsageEndpoint = get('/v1/billing/usage', {
  summary: 'Usage of a month per day and per tenant; days and tenants without mail are left out',
  access: key('read'),
  query: Type.Object({
    month: Month,
    tenant_id: Type.Optional(Uuid({ description: 'Only what this tenant used' })),
    cursor: Cursor,
    limit: TenantLimit,
  }),
  replies: {
    200: Page({
      month: Type.String(),
      ...used,
      days: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), ...used })),
      tenants: Type.Array(Type.Object({ tenant_id: Uuid(), ...used })),
    }),
  },
  refusals: ['not_found'],
})

export const previewEndpoint = get('/v1/billing/preview', {
  summary:
    "What a month is going to cost: the account's own charge first, then the rate card of each tenant that has one",
  access: key('read'),
  query: Type.Object({ month: Month, cursor: Cursor, limit: TenantLimit }),
  replies: { 200: Page({ month: Type.String(), preview, lines: Type.Array(ChargeLine) }) },
})

export const exportEndpoint = get('/v1/billing/export', {
  summary: 'The usage of a month as a file, a row per day and tenant',
  access: key('read'),
  query: Type.Object({
    month: Month,
    format: Type.Optional(Type.Enum(['csv', 'json'], { default: 'json' })),
  }),
  isStreamed: true,
  replies: { 200: { raw: ['application/json; charset=utf-8', 'text/csv; charset=utf-8'] } },
})

export const listBilledAccountsEndpoint = get('/admin/v1/billing/accounts', {
  summary: 'Usage and preview charge of every account, newest account first',
  access: operator,
  query: PageQuery({ month: Month }),
  replies: {
    200: Page({
      month: Type.String(),
      preview,
      accounts: Type.Array(
        NamedObject('AccountCharge', { account_id: Uuid(), name: Type.String(), messages: used.messages, ...charged }),
      ),
    }),
  },
})
