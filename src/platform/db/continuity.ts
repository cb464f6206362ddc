// Whether the database has been there all the time. After an outage the processes with leases prove it first, and
// claims of new work wait for that.
import { Refusal } from '../refusal.ts'
import { isLost } from './errors.ts'

export class Continuity {
  /** How often it was lost. Who finds another number than before knows that something may have been undone. */
  losses = 0
  #isLost = false
  #backAt = -Infinity

  /** How long it has answered without a break, in milliseconds. */
  get steadyMs(): number {
    return this.#isLost ? 0 : performance.now() - this.#backAt
  }

  noteLost(): void {
    if (!this.#isLost) this.losses += 1
    this.#isLost = true
  }

  async watch<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked
      if (this.#isLost) this.#backAt = performance.now()
      this.#isLost = false
      return answer
    } catch (error) {
      if (isLost(error instanceof Refusal ? error.cause : error)) this.noteLost()
      throw error
    }
  }
}
