// From what was counted to rates and to a word for them. The thresholds are those of the guardian's default rules,
// held against 24 hours.
import type { Static } from 'typebox'
import { component, Int64 } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { DEFAULT_RULES } from '../guardian/defaults.ts'
import { isOver, measured } from '../guardian/rule.ts'
import type { Counters } from '../metrics/counters.ts'

const Rate = (description: string) => Type.Number({ minimum: 0, maximum: 1, description })

const Health = component('Health', Type.Enum(['ok', 'warning', 'critical']))
type Health = Static<typeof Health>

export const standingFields = {
  recipients_24h: Int64({ description: 'Accepted in the last 24 hours' }),
  bounce_rate: Rate('Hard and soft bounces among recipients that reached a verdict, as a fraction'),
  block_rate: Rate('Blocks among the same'),
  complaint_rate: Rate('Complaints against the same'),
  health: Health,
}
const Standing = Type.Object(standingFields)
export type Standing = Static<typeof Standing>

/** What health is judged by. The others say something about traffic, not about reputation. */
const JUDGED = DEFAULT_RULES.filter(({ metric }) =>
  ['hard_bounce_rate', 'complaint_rate', 'block_rate'].includes(metric),
)

export function standingOf(counted: Counters): Standing {
  const { recipients, hard_bounces, soft_bounces, blocks, complaints } = counted
  const verdicts = verdictsOf(counted)
  return {
    recipients_24h: recipients,
    bounce_rate: fraction(hard_bounces + soft_bounces, verdicts),
    block_rate: fraction(blocks, verdicts),
    complaint_rate: fraction(complaints, verdicts),
    health: healthOf(counted),
  }
}

export function healthOf(counted: Counters): Health {
  const crossed = JUDGED.filter(rule => isOver(rule, measured(rule, { ...counted, distinct_ips: 0 }), rule.threshold))
  if (crossed.some(rule => rule.severity === 'critical')) return 'critical'
  return crossed.length > 0 ? 'warning' : 'ok'
}

/** Recipients whom a receiver took or refused for good. */
const verdictsOf = ({ delivered, hard_bounces, soft_bounces, blocks }: Counters): number =>
  delivered + hard_bounces + soft_bounces + blocks

/** Complaints may be about mail of the day before, and so be more than today's verdicts. */
const fraction = (count: number, verdicts: number): number => (verdicts === 0 ? 0 : Math.min(1, count / verdicts))
