// When to try again: a schedule of delays, each ±10 %, so that a burst does not come back as a burst.
import { randomInt } from 'node:crypto'

/** How long after the given try (1 is the first) the next one is due; null when it was the last. */
export function retryDelayMs(delaysMs: readonly number[], tries: number): number | null {
  const delayMs = delaysMs[tries - 1]
  return delayMs === undefined ? null : Math.round((delayMs * randomInt(9_000, 11_001)) / 10_000)
}

/** The same where no try is the last: the last delay is repeated. A try that was not counted has the first. */
export const repeatedDelayMs = (delaysMs: readonly number[], tries: number): number =>
  retryDelayMs(delaysMs, Math.min(Math.max(tries, 1), delaysMs.length))!
