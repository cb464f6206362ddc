// A wait that a hint ends early. A hint that comes before the wait is not lost: the wait then is none.

export class Nap {
  #hinted = false
  #wake = (): void => {}

  end(): void {
    this.#hinted = true
    this.#wake()
  }

  async begin(milliseconds: number): Promise<void> {
    if (!this.#hinted) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, milliseconds)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#hinted = false
  }
}
