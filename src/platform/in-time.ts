// A limit on how long an answer is waited for. What is asked goes on without us.

/** The answer, or after so many milliseconds what `late` gives or throws. */
export async function inTime<T>(milliseconds: number, answer: Promise<T>, late: () => T): Promise<T> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, milliseconds)
  try {
    return await Promise.race([answer, over.then(late)])
  } finally {
    clearTimeout(timer)
  }
}
