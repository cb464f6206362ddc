// When to try again, and when to give up.
import { randomInt } from 'node:crypto'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const PAUSES_MS = [1, 2, 5, 10, 20, 40]
  .map(minutes => minutes * MINUTE_MS)
  .concat([1, 2, 4].map(hours => hours * HOUR_MS))
const LAST_PAUSE_MS = 4 * HOUR_MS

/** After this long without success a delivery is expired. */
const EXPIRY_MS = 72 * HOUR_MS

export const isTooOld = (acceptedAt: Date, now: Date): boolean => now.getTime() - acceptedAt.getTime() >= EXPIRY_MS

/** The pause after the given attempt (1 is the first), ±10 % so that a burst does not come back as a burst. */
export function pauseAfter(attempt: number): number {
  const pause = PAUSES_MS[attempt - 1] ?? LAST_PAUSE_MS
  return Math.round((pause * randomInt(9_000, 11_001)) / 10_000)
}
