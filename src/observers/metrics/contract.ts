// Counters over time.
import type { Static } from 'typebox'
import { get, key } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Counters } from './counters.ts'

export const STEP_SECONDS_DEFAULT = 300
export const INTERVALS_MAX = 2_000
/** A year: as far back as there is anything to see. */
const STEP_SECONDS_MAX = 31_622_400

const ScopeType = Type.Enum(['tenant', 'domain', 'sender', 'credential', 'api_key'])

const Interval = NamedObject('MetricInterval', {
  start: DateTime(),
  ...Counters.properties,
  distinct_addresses: Type.Optional(
    Int64({ description: 'Of an SMTP credential only: addresses it was used from in the interval' }),
  ),
})

const Metrics = NamedObject('Metrics', {
  scope_type: Type.Enum(['account', ...ScopeType.enum]),
  scope_value: Type.String(),
  from: DateTime({ description: 'Aligned down to step' }),
  to: DateTime({ description: 'Aligned up to step' }),
  step: Type.Integer(),
  intervals: Type.Array(Interval, { description: 'One per step, oldest first, zeros where nothing happened' }),
})

export const MetricsQuery = Type.Object({
  scope_type: Type.Optional(ScopeType),
  scope_value: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 320,
      description:
        'Goes with scope_type: an id, a From domain or a From address. Without both: all that the key may see',
    }),
  ),
  from: Type.Optional(DateTime({ description: 'Default: 24 hours before to' })),
  to: Type.Optional(DateTime({ description: 'Default: now' })),
  step: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: STEP_SECONDS_MAX,
      multipleOf: 60,
      default: STEP_SECONDS_DEFAULT,
      description:
        'Seconds per interval. What is older than 32 days is known by the hour, for 400 days: ' +
        'of intervals that are no whole hours an hour counts in the one in which it begins',
    }),
  ),
})
export type MetricsQuery = Static<typeof MetricsQuery>

export const getMetricsEndpoint = get('/v1/metrics', {
  summary: `Counters per interval, at most ${INTERVALS_MAX} intervals`,
  access: key('read'),
  query: MetricsQuery,
  isLargeRead: true,
  replies: { 200: Metrics },
  refusals: ['not_found'],
})
