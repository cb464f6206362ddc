// Waiting for a condition, outside of the test runner as well.

/** Waits until the condition holds; fails loudly when it does not. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let tries = 0; ; tries++) {
    const result = await condition()
    if (result) return result
    if (performance.now() > deadline) throw new Error(`did not happen within ${timeoutMs} ms: ${what}`)
    // Often at first; a condition that takes its time is not to be delayed by frequent questions.
    await new Promise(resolve => setTimeout(resolve, Math.min(100, 10 + tries * 5)))
  }
}

/** Where the condition says by itself what it is. */
export const until = (condition: () => boolean): Promise<boolean> => eventually(condition.toString(), condition)
