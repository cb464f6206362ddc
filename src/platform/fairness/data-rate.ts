// How fast a message or a body comes in: a client that sends a byte now and then would keep a session and its memory for
// ever.

export class DataRate {
  readonly #bytesPerSecondMin: number
  #since = 0
  #bytes = 0

  constructor({ bytesPerSecondMin }: { bytesPerSecondMin: number }) {
    this.#bytesPerSecondMin = bytesPerSecondMin
  }

  begin(now: number): void {
    this.#since = now
    this.#bytes = 0
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Asked now and then; each window that is over is judged once. */
  isTooSlow(now: number, windowMs: number): boolean {
    const elapsed = now - this.#since
    if (elapsed < windowMs) return false
    const isSlow = this.#bytes < (elapsed / 1_000) * this.#bytesPerSecondMin
    this.begin(now)
    return isSlow
  }
}
