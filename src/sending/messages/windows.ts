// Quota and rate windows of a tenant: fixed windows on the UTC clock, counted in recipients. Pure; the row behind it is
// locked by the transaction that counts, so that the limits hold whatever number of processes race.
import { refuse, type Refusal } from '../../platform/refusal.ts'

export interface Counters {
  minute: Date
  minute_count: number
  hour: Date
  hour_count: number
  /** `YYYY-MM-DD`; a month is its first day. */
  day: string
  day_count: number
  month: string
  month_count: number
}

export interface Limits {
  rate_per_minute: number | null
  rate_per_hour: number | null
  quota_daily: number | null
  quota_monthly: number | null
}

/** Another process may have seen the next minute begin: its clock is a little ahead, or we waited for the row. */
const AHEAD_MS_MAX = 60_000

/**
 * The counters as they stand now: windows that have ended begin again at zero. What was counted in the next one already is
 * not taken back.
 */
export function current(counters: Counters, time: Date): Counters {
  const aheadMs = counters.minute.getTime() - time.getTime()
  const now = aheadMs > 0 && aheadMs <= AHEAD_MS_MAX ? counters.minute : time
  const minute = floor(now, 60_000)
  const hour = floor(now, 3_600_000)
  const day = now.toISOString().slice(0, 10)
  const month = `${day.slice(0, 7)}-01`
  return {
    minute,
    minute_count: counters.minute.getTime() === minute.getTime() ? counters.minute_count : 0,
    hour,
    hour_count: counters.hour.getTime() === hour.getTime() ? counters.hour_count : 0,
    day,
    day_count: counters.day === day ? counters.day_count : 0,
    month,
    month_count: counters.month === month ? counters.month_count : 0,
  }
}

/** A tenant that has not sent anything. */
export const NEVER: Counters = {
  minute: new Date(0),
  minute_count: 0,
  hour: new Date(0),
  hour_count: 0,
  day: '1970-01-01',
  day_count: 0,
  month: '1970-01-01',
  month_count: 0,
}

/** When each running window ends. */
export const endsOf = (now: Date): { minute: Date; hour: Date; day: Date; month: Date } => ({
  minute: addMs(floor(now, 60_000), 60_000),
  hour: addMs(floor(now, 3_600_000), 3_600_000),
  day: addMs(floor(now, DAY_MS), DAY_MS),
  month: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)),
})

/** Null when that many more recipients fit whole into every window, otherwise the refusal with the time to wait. */
export function refusalOf(counters: Counters, limits: Limits, recipients: number, now: Date): Refusal | null {
  if (recipients === 0) return null
  const ends = endsOf(now)
  const windows = [
    ['quota_exceeded', 'monthly quota', counters.month_count, limits.quota_monthly, ends.month],
    ['quota_exceeded', 'daily quota', counters.day_count, limits.quota_daily, ends.day],
    ['rate_limited', 'hourly rate', counters.hour_count, limits.rate_per_hour, ends.hour],
    ['rate_limited', 'rate per minute', counters.minute_count, limits.rate_per_minute, ends.minute],
  ] as const
  for (const [code, what, count, limit, end] of windows) {
    if (limit === null || count + recipients <= limit) continue
    const retryAfterSeconds = Math.max(1, Math.ceil((end.getTime() - now.getTime()) / 1000))
    const message = `This message does not fit into the tenant's ${what} of ${limit} recipients.`
    return refuse(code, message, { retryAfterSeconds })
  }
  return null
}

export const add = (counters: Counters, recipients: number): Counters => ({
  ...counters,
  minute_count: counters.minute_count + recipients,
  hour_count: counters.hour_count + recipients,
  day_count: counters.day_count + recipients,
  month_count: counters.month_count + recipients,
})

const DAY_MS = 86_400_000

const floor = (time: Date, ms: number): Date => new Date(Math.floor(time.getTime() / ms) * ms)
const addMs = (time: Date, ms: number): Date => new Date(time.getTime() + ms)
