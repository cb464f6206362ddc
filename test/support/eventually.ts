// Waiting for a condition, outside of the test runner as well.

// Often at first; what takes its time is not to be delayed by frequent questions, nor are the tests beside it.
const FIRST_DELAY_MS = 10
const GROWTH = 1.4
const DELAY_MS_MAX = 200

/** Waits until the condition holds; fails loudly when it does not. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(DELAY_MS_MAX, delayMs * GROWTH)) {
    const result = await condition()
    if (result) return result
    if (performance.now() > deadline) throw new Error(`did not happen within ${timeoutMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, delayMs))
  }
}

/** Where the condition says by itself what it is. */
export const until = (condition: () => boolean): Promise<boolean> => eventually(condition.toString(), condition)
