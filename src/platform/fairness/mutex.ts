// One at a time, in the order of asking.

export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(act: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(act)
    this.#last = mine.catch(() => {})
    return mine
  }
}
