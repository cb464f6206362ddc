// One listener per signal, however many wait for it. A signal keeps its listeners in a list that it searches to remove
// one: with the hundreds of sends that share a worker's signal, that search cost as much as sending the message.

export class AbortHub {
  readonly #waiting = new WeakMap<AbortSignal, Set<() => void>>()

  /** Calls back once when the signal aborts, unless the returned function was called before. */
  listen(signal: AbortSignal | undefined, onAbort: () => void): () => void {
    if (!signal) return () => {}
    const callbacks = this.#callbacksOf(signal)
    callbacks.add(onAbort)
    return () => void callbacks.delete(onAbort)
  }

  #callbacksOf(signal: AbortSignal): Set<() => void> {
    const existing = this.#waiting.get(signal)
    if (existing) return existing
    const callbacks = new Set<() => void>()
    this.#waiting.set(signal, callbacks)
    signal.addEventListener(
      'abort',
      () => {
        for (const callback of callbacks) callback()
        callbacks.clear()
      },
      { once: true },
    )
    return callbacks
  }
}
