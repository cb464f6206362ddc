// What the rules measure, as arithmetic over the counters of a window. Pure.
import { NOTHING as NOTHING_COUNTED, type Counters as Counted } from '../metrics/counters.ts'

export const METRICS = [
  'recipients',
  'hard_bounce_rate',
  'soft_bounce_rate',
  'bounce_rate',
  'block_rate',
  'complaint_rate',
  'deferral_rate',
  'auth_failures',
  'distinct_ips',
  'hard_bounces',
  'complaints',
  'blocks',
  'deferrals',
] as const
export type Metric = (typeof METRICS)[number]

/** What is counted of a scope, and from how many addresses it was used. */
export type Counters = Counted & { distinct_ips: number }

export const NOTHING: Counters = { ...NOTHING_COUNTED, distinct_ips: 0 }

export const COUNTED = Object.keys(NOTHING_COUNTED) as (keyof Counted)[]

export const add = (left: Counters, right: Counters): Counters => {
  const sum = { ...left }
  for (const name of COUNTED) sum[name] += right[name]
  sum.distinct_ips += right.distinct_ips
  return sum
}

export interface Measured {
  value: number
  /** How many of the counted thing there were: the numerator of a rate, or the value itself. */
  count: number
  /** What `min_volume` is compared with. */
  volume: number
}

export function measure(metric: Metric, counters: Counters): Measured {
  const { hard_bounces, soft_bounces, blocks, complaints, deferrals } = counters
  const verdicts = counters.delivered + hard_bounces + soft_bounces + blocks
  switch (metric) {
    case 'hard_bounce_rate':
      return rate(hard_bounces, verdicts)
    case 'soft_bounce_rate':
      return rate(soft_bounces, verdicts)
    case 'bounce_rate':
      return rate(hard_bounces + soft_bounces, verdicts)
    case 'block_rate':
      return rate(blocks, verdicts)
    case 'complaint_rate':
      return rate(complaints, verdicts)
    case 'deferral_rate':
      // When everything is deferred there is no verdict at all, and that is what this rate is for.
      return rate(deferrals, verdicts + deferrals)
    case 'auth_failures':
    case 'distinct_ips':
      return { value: counters[metric], count: counters[metric], volume: counters[metric] }
    default: {
      // Verdicts come late: a queue that empties may fail today for what was accepted yesterday.
      const volume = metric === 'recipients' ? counters.recipients : Math.max(counters.recipients, verdicts)
      return { value: counters[metric], count: counters[metric], volume }
    }
  }
}

export const isRate = (metric: Metric): boolean => metric.endsWith('_rate')

const rate = (count: number, volume: number): Measured => ({ value: volume > 0 ? count / volume : 0, count, volume })

/** Sums over the time before a window that a window is compared with. */
export interface History {
  counters: Counters
  /** From the first thing that was ever counted until the window: seven days at the most. */
  seconds: number
}

/** A day: with less, the average of a working day's first hours would make every noon a spike. */
const HISTORY_SECONDS_MIN = 86_400

/**
 * The mean of windows of this length in the time before, silent ones too; null with too little of it. A rate's mean is that of
 * its recipients, so that an hour with three of them does not weigh as much as an hour with a million; without any it has none.
 */
export function baselineOf(metric: Metric, windowSeconds: number, history: History | null): number | null {
  if (!history || history.seconds < HISTORY_SECONDS_MIN) return null
  const { value, volume } = measure(metric, history.counters)
  if (!isRate(metric)) return value * (windowSeconds / history.seconds)
  return volume > 0 ? value : null
}
