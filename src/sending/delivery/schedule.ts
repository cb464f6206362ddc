// When to try again, and when to give up.
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const RETRY_DELAYS_MS = [1, 2, 5, 10, 20, 40]
  .map(minutes => minutes * MINUTE_MS)
  .concat([1, 2, 4].map(hours => hours * HOUR_MS))

/** After this long without success a delivery is expired. */
const EXPIRY_MS = 72 * HOUR_MS

export const isTooOld = (acceptedAt: Date, now: Date): boolean => now.getTime() - acceptedAt.getTime() >= EXPIRY_MS

/** How long after the given attempt (1 is the first) the next one is due: the last delay is repeated until it expires. */
export const retryDelayAfter = (attempt: number): number => repeatedDelayMs(RETRY_DELAYS_MS, attempt)
