// The platform's own rules, as data. Their ids are fixed; an account replaces one by saving a rule of the
// same name.
import type { Rule } from './rule.ts'

const HOUR = 3600
const DAY = 86_400

type Given = Pick<Rule, 'name' | 'metric' | 'window_seconds' | 'threshold' | 'action'> & Partial<Rule>

const rule = (number: number, given: Given): Rule => ({
  id: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  scope_type: 'tenant',
  min_volume: 0,
  min_count: 0,
  baseline_multiplier: null,
  severity: 'warning',
  enabled: true,
  ...given,
})

export const DEFAULT_RULES: readonly Rule[] = [
  rule(1, {
    name: 'hard-bounce-rate-warning',
    metric: 'hard_bounce_rate',
    window_seconds: HOUR,
    threshold: 0.04,
    min_volume: 100,
    action: 'alert',
  }),
  rule(2, {
    name: 'hard-bounce-rate-critical',
    metric: 'hard_bounce_rate',
    window_seconds: HOUR,
    threshold: 0.08,
    min_volume: 200,
    action: 'suspend',
    severity: 'critical',
  }),
  rule(3, {
    name: 'complaint-rate-warning',
    metric: 'complaint_rate',
    window_seconds: DAY,
    threshold: 0.001,
    min_volume: 1000,
    action: 'alert',
  }),
  rule(4, {
    name: 'complaint-rate-critical',
    metric: 'complaint_rate',
    window_seconds: DAY,
    threshold: 0.003,
    min_volume: 1000,
    // Large receivers judge by 0.3 %; two people who press the wrong button must not stop a customer.
    min_count: 3,
    action: 'suspend',
    severity: 'critical',
  }),
  rule(5, {
    name: 'block-rate-warning',
    metric: 'block_rate',
    window_seconds: HOUR,
    threshold: 0.05,
    min_volume: 100,
    action: 'alert',
  }),
  rule(6, {
    name: 'block-rate-critical',
    metric: 'block_rate',
    window_seconds: HOUR,
    threshold: 0.2,
    min_volume: 200,
    action: 'throttle',
    severity: 'critical',
  }),
  rule(7, {
    name: 'deferral-rate',
    metric: 'deferral_rate',
    window_seconds: HOUR,
    threshold: 0.3,
    min_volume: 200,
    action: 'alert',
  }),
  rule(8, {
    name: 'volume-spike',
    metric: 'recipients',
    window_seconds: HOUR,
    // Out of reach: a tenant without a day of history has nothing that it could be a spike against, and a customer's first
    // big day must not be slowed down.
    threshold: 1_000_000_000,
    min_volume: 1000,
    baseline_multiplier: 10,
    action: 'throttle',
  }),
  rule(9, {
    name: 'credential-auth-failures',
    metric: 'auth_failures',
    scope_type: 'credential',
    window_seconds: 600,
    threshold: 20,
    action: 'alert',
  }),
  rule(10, {
    name: 'credential-distinct-ips',
    metric: 'distinct_ips',
    scope_type: 'credential',
    window_seconds: HOUR,
    threshold: 10,
    action: 'alert',
  }),
]
