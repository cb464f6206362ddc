// From what the caller asked to whole steps of time, counted from 1970 in UTC, so that hours and days begin where
// clocks in UTC say they do.
import { refuse } from '../../platform/refusal.ts'
import { INTERVALS_MAX, STEP_SECONDS_DEFAULT, type MetricsQuery } from './contract.ts'

export interface Window {
  from: Date
  to: Date
  stepSeconds: number
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** For so long what happened is known by the minute; before that by the hour. */
export const MINUTE_DAYS = 32
/** Beyond these a time is no longer written as others read it. */
const [EARLIEST, LATEST] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')]

export function windowOf({ from, to, step }: Pick<MetricsQuery, 'from' | 'to' | 'step'>, now: Date): Window {
  const stepSeconds = step ?? STEP_SECONDS_DEFAULT
  const stepMs = stepSeconds * 1000
  const end = to === undefined ? now.getTime() : Date.parse(to)
  const begin = from === undefined ? end - DAY_MS : Date.parse(from)
  if (begin >= end) throw refuse('invalid_request', 'from must be before to.')
  const alignedFrom = Math.floor(begin / stepMs) * stepMs
  const alignedTo = Math.ceil(end / stepMs) * stepMs
  if (alignedFrom < EARLIEST || alignedTo > LATEST) {
    throw refuse('invalid_request', 'from and to must lie between the years 1 and 9999.')
  }
  if ((alignedTo - alignedFrom) / stepMs > INTERVALS_MAX) {
    throw refuse('invalid_request', `That is more than ${INTERVALS_MAX} intervals. Ask for fewer or for a larger step.`)
  }
  return { from: new Date(alignedFrom), to: new Date(alignedTo), stepSeconds }
}

/** The first hour of which all minutes are still there. */
export const minutesKeptFrom = (now: Date): Date => hourAfter(new Date(now.getTime() - MINUTE_DAYS * DAY_MS))

/** The hour that begins then or next. */
export const hourAfter = (moment: Date): Date => new Date(Math.ceil(moment.getTime() / HOUR_MS) * HOUR_MS)

export function startsOf({ from, to, stepSeconds }: Window): Date[] {
  const count = (to.getTime() - from.getTime()) / (stepSeconds * 1000)
  return Array.from({ length: count }, (_, n) => new Date(from.getTime() + n * stepSeconds * 1000))
}
