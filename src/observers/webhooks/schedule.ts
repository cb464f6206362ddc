// When to try again, and when to give up.
import { randomInt } from 'node:crypto'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

const PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
] as const

export const TRIES_MAX = PAUSES_MS.length + 1

/** An endpoint whose tries all failed for this long is disabled. */
export const FAILING_MS_MAX = 5 * 24 * HOUR_MS

/** How long after the given try (1 is the first) the next one is due, ±10 %; null when it was the last. */
export function pauseAfter(tries: number): number | null {
  const pause = PAUSES_MS[tries - 1]
  return pause === undefined ? null : Math.round((pause * randomInt(9_000, 11_001)) / 10_000)
}
