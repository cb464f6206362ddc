// From what was counted to rates and to a word for them. The thresholds are those of the guardian's default rules,
// held against 24 hours.
import Type, { type Static } from 'typebox'
import { component, Int64 } from '../../platform/http/schemas.ts'
import type { Counters } from '../metrics/counters.ts'

const Rate = (description: string) => Type.Number({ minimum: 0, maximum: 1, description })

export const Health = component('Health', Type.Enum(['ok', 'warning', 'critical']))
export type Health = Static<typeof Health>

export const standingFields = {
  recipients_24h: Int64({ description: 'Accepted in the last 24 hours' }),
  bounce_rate: Rate('Hard and soft bounces among recipients that reached a verdict, as a fraction'),
  block_rate: Rate('Blocks among the same'),
  complaint_rate: Rate('Complaints against the same'),
  health: Health,
}
const Standing = Type.Object(standingFields)
export type Standing = Static<typeof Standing>

/** A threshold is crossed by what is above it, and only with so many verdicts. */
interface Threshold {
  above: number
  verdictsMin: number
}

export const THRESHOLDS = {
  hardBounceWarning: { above: 0.04, verdictsMin: 100 },
  hardBounceCritical: { above: 0.08, verdictsMin: 200 },
  complaintWarning: { above: 0.001, verdictsMin: 1000 },
  complaintCritical: { above: 0.003, verdictsMin: 1000 },
  blockWarning: { above: 0.05, verdictsMin: 100 },
  blockCritical: { above: 0.2, verdictsMin: 200 },
} as const satisfies Record<string, Threshold>

/** One or two people do not make a crisis, whatever fraction they are. */
export const COMPLAINTS_MIN_CRITICAL = 3

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
  const verdicts = verdictsOf(counted)
  const { hard_bounces, blocks, complaints } = counted
  const crosses = (count: number, { above, verdictsMin }: Threshold): boolean =>
    verdicts >= verdictsMin && count / verdicts > above
  const isCritical =
    crosses(hard_bounces, THRESHOLDS.hardBounceCritical) ||
    crosses(blocks, THRESHOLDS.blockCritical) ||
    (crosses(complaints, THRESHOLDS.complaintCritical) && complaints >= COMPLAINTS_MIN_CRITICAL)
  if (isCritical) return 'critical'
  const isWarning =
    crosses(hard_bounces, THRESHOLDS.hardBounceWarning) ||
    crosses(blocks, THRESHOLDS.blockWarning) ||
    crosses(complaints, THRESHOLDS.complaintWarning)
  return isWarning ? 'warning' : 'ok'
}

/** Recipients whom a receiver took or refused for good. */
const verdictsOf = ({ delivered, hard_bounces, soft_bounces, blocks }: Counters): number =>
  delivered + hard_bounces + soft_bounces + blocks

/** Complaints may be about mail of the day before, and so be more than today's verdicts. */
const fraction = (count: number, verdicts: number): number => (verdicts === 0 ? 0 : Math.min(1, count / verdicts))
