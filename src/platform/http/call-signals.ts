// Tells a handler that waits for somebody else that nobody waits for it any more: its caller has gone, or the server is
// closing and the time for what is under way is over.
import type { FastifyReply } from 'fastify'

export class CallSignals {
  readonly #open = new Set<AbortController>()

  of({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
    const controller = new AbortController()
    if (raw.destroyed) controller.abort()
    this.#open.add(controller)
    raw.once('close', () => {
      this.#open.delete(controller)
      controller.abort()
    })
    return controller.signal
  }

  /** When the server closes: it waits for the handlers, so that one that waits for somebody else must end. */
  abortAfter(milliseconds: number): void {
    const abort = (): void => {
      for (const controller of this.#open) controller.abort()
    }
    setTimeout(abort, milliseconds).unref()
  }
}
