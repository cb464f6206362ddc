// Says when background work must wait for what is more urgent. One instance per process, in the World: urgent work
// registers itself here, and some workers ask before each claim.

export class LoadShedder {
  readonly #signs: (() => boolean)[] = []
  #bulkWork = 0

  /** Callers wait for an answer while this says so: delivery, and workers that declare `whileCallersWait`, claim less. */
  yieldWhile(callersWait: () => boolean): void {
    this.#signs.push(callersWait)
  }

  /** Until the act has ended, delivery claims less: it works on the same queue. */
  async yieldDuring<T>(bulkWork: () => Promise<T>): Promise<T> {
    this.#bulkWork += 1
    try {
      return await bulkWork()
    } finally {
      this.#bulkWork -= 1
    }
  }

  get callersWait(): boolean {
    return this.#signs.some(isBusy => isBusy())
  }

  /** Callers wait, or a long queue is being moved. */
  get isBusy(): boolean {
    return this.#bulkWork > 0 || this.callersWait
  }
}
