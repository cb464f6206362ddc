// Detection rules.
import type { Static } from 'typebox'
import { del, get, key, post, put } from '../../platform/http/contract.ts'
import { DateTime, Int64, Name, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { METRICS } from './metric.ts'
import { ACTIONS, SCOPE_TYPES } from './rule.ts'

const SEVERITIES = ['info', 'warning', 'critical'] as const

/** Numbers up to here are exact; nobody counts further. */
const NUMBER_MAX = 1e15

const measure = {
  metric: Type.Enum([...METRICS], {
    description:
      'Rates are fractions of the recipients that reached a verdict (delivered, bounced or blocked); deferral_rate is ' +
      'deferrals / (verdicts + deferrals). distinct_ips counts addresses that SMTP logins came from (of a credential up to ' +
      '100 in a minute; of a scope the newest 10,000 by minute and address), and is known for ' +
      'credentials and tenants; auth_failures for credentials, API keys and tenants. Elsewhere these two are 0.',
  }),
  scope_type: Type.Enum([...SCOPE_TYPES]),
  window_seconds: Type.Integer({ minimum: 60, maximum: 604_800 }),
}

const Threshold = Type.Number({
  minimum: 0,
  maximum: NUMBER_MAX,
  default: 0,
  description: 'Fires when the value is greater; 0.05 is 5 %',
})
const MinVolume = Type.Integer({
  minimum: 0,
  maximum: NUMBER_MAX,
  default: 0,
  description:
    'Minimum sample. Compared with what the rate is a fraction of; for recipients with the recipients accepted; for ' +
    'counts of bounces, blocks, complaints and deferrals with the recipients accepted or decided, whichever are more; ' +
    'for auth_failures and distinct_ips with the value itself.',
})
const MinCount = Type.Integer({
  minimum: 0,
  maximum: NUMBER_MAX,
  default: 0,
  description: 'Extension: at least so many of what is counted (3 complaints), whatever the rate',
})
const Multiplier = Nullable(
  Type.Number({
    exclusiveMinimum: 0,
    maximum: NUMBER_MAX,
    description:
      'Fires when the value exceeds the mean of windows of this length in the 7 days before times this, silent ones ' +
      'included. When the scope is known for less than 24 h the threshold counts. A rate is averaged over its recipients.',
  }),
)
const Enabled = Type.Boolean({ default: true, description: 'false switches a default rule off' })
const Severity = Type.Enum([...SEVERITIES], { default: 'warning' })

export const Rule = NamedObject('Rule', {
  id: Uuid({ description: 'Fixed for platform defaults' }),
  tenant_id: Nullable(Uuid({ description: 'Null: every tenant of the account' })),
  name: Type.String(),
  ...measure,
  threshold: Threshold,
  min_volume: MinVolume,
  min_count: MinCount,
  baseline_multiplier: Multiplier,
  action: Type.Enum([...ACTIONS]),
  severity: Severity,
  enabled: Enabled,
  source: Type.Enum(['default', 'override']),
  created_at: Nullable(DateTime({ description: 'Null for platform defaults' })),
  updated_at: Nullable(DateTime({ description: 'Null for platform defaults' })),
})
export type Rule = Static<typeof Rule>

const inputFields = {
  tenant_id: Type.Optional(Nullable(Uuid({ description: 'Restricts the override to a tenant' }))),
  name: Name(100, { description: 'The name of a platform default replaces it' }),
  ...measure,
  threshold: Type.Optional(Threshold),
  min_volume: Type.Optional(MinVolume),
  min_count: Type.Optional(MinCount),
  baseline_multiplier: Type.Optional(Multiplier),
  action: Type.Enum([...ACTIONS], {
    description: 'throttle lowers the per-minute rate of the tenant; suspend pauses only the offending scope',
  }),
  severity: Type.Optional(Severity),
  enabled: Type.Optional(Enabled),
}

const RuleInput = NamedObject('RuleInput', inputFields)
export type RuleInput = Static<typeof RuleInput>

const RuleTest = NamedObject('RuleTest', {
  ...inputFields,
  name: Type.Optional(Name(100)),
  action: Type.Optional(Type.Enum([...ACTIONS])),
  from: DateTime(),
  to: DateTime({ description: 'At most 31 days after from' }),
  scope_value: Type.Optional(
    Type.String({ minLength: 1, maxLength: 320, description: 'Only this domain, sender, credential…' }),
  ),
})
export type RuleTest = Static<typeof RuleTest>

const Firing = NamedObject('RuleFiring', {
  scope: Type.String({ description: 'type:value' }),
  tenant_id: Nullable(Uuid()),
  from: DateTime({ description: 'The minute at which the rule would have fired' }),
  to: DateTime({ description: 'The last minute at which it was over its threshold' }),
  peak_value: Type.Number(),
  threshold: Type.Number({ description: 'At the peak: absolute, or the multiplied average' }),
  volume: Int64({ description: 'At the peak' }),
})
export type Firing = Static<typeof Firing>

export const listRulesEndpoint = get('/v1/rules', {
  summary: 'List the rules in force: platform defaults and overrides; with tenant_id those in force for that tenant',
  access: key('read'),
  query: PageQuery({ tenant_id: Type.Optional(Uuid()) }),
  replies: { 200: Page({ rules: Type.Array(Rule) }) },
  refusals: ['not_found'],
})

export const saveRuleEndpoint = put('/v1/rules', {
  summary: 'Create a rule, or replace the one of this name and tenant; fields that are left out take their defaults',
  access: key('admin'),
  body: RuleInput,
  replies: { 200: Rule },
  refusals: ['not_found', 'conflict'],
  audit: 'rule.save',
})

export const deleteRuleEndpoint = del('/v1/rules/{id}', {
  summary: 'Delete an override; a platform default of that name is in force again',
  access: key('admin'),
  replies: { 204: null },
  audit: 'rule.delete',
})

export const testRuleEndpoint = post('/v1/rules/test', {
  summary: 'Extension: when a rule would have fired over stored metrics; changes nothing',
  access: key('read'),
  body: RuleTest,
  isLargeRead: true,
  replies: {
    200: Type.Object({
      firings: Type.Array(Firing),
      evaluated: Int64({ description: 'How many scopes were looked at' }),
    }),
  },
  refusals: ['not_found'],
  audit: null,
})
