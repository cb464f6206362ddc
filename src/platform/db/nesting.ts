// Finds transactions that are opened inside another one. Each would keep one connection while it waits for a second: as
// many callers as there are connections would all wait for one more. And what the inner one has committed stays when the
// outer one fails.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Actor } from './actor.ts'

/** A test that keeps a transaction open plays another process. */
const PLAYS_ANOTHER = 'test'

export class NestingGuard {
  readonly #open = new AsyncLocalStorage<{ name: string; isOpen: boolean }>()

  /** What the recipe leaves behind when it has ended, such as a send that it began, is not inside it any more. */
  async run<T>({ name }: Actor, transaction: () => Promise<T>): Promise<T> {
    const outer = this.#open.getStore()
    if (outer?.isOpen && outer.name !== PLAYS_ANOTHER) {
      throw new Error(`a transaction of ${name} was opened inside one of ${outer.name}`)
    }
    const own = { name, isOpen: true }
    try {
      return await this.#open.run(own, transaction)
    } finally {
      own.isOpen = false
    }
  }
}
