// Questions that cost more the more there is: asked anew only after twenty times as long as the last answer took, so that
// a caller that asks all the time takes a twentieth of a core at the most.

const REST = 20

/** Concurrent callers share the answer. A failure is not kept. */
export function seldom<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | null = null
  let isFreshUntil = Infinity
  return () => {
    if (answer && performance.now() < isFreshUntil) return answer
    const began = performance.now()
    isFreshUntil = Infinity
    answer = ask()
    answer.then(
      () => (isFreshUntil = performance.now() + (performance.now() - began) * REST),
      () => (answer = null),
    )
    return answer
  }
}
