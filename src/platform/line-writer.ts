// Log lines for an open file, gathered into writes: a write per line costs more than the line. Where nobody reads any
// more, the disk is full, or lines come faster than they are read, they are lost; the process goes on, and can end.
import { write, writeSync } from 'node:fs'

const WRITE_CHARS_MIN = 12 * 1024
const WRITE_EVERY_MS = 1_000
/** Of lines that nobody takes; later ones are lost. */
const WAITING_CHARS_MAX = 8 * 1024 * 1024
const RETRY_MS = 50
/** So long the last lines wait for a slow reader, within the time that a process has to end. */
const END_MS_MAX = 1_000

export class LineWriter {
  readonly #fd: number
  #lines: string[] = []
  #chars = 0
  #isWriting = false
  /** What the reader had no room for, until it is tried again. */
  #refused: Buffer | null = null

  constructor(fd: number) {
    this.#fd = fd
    setInterval(() => this.#flush(), WRITE_EVERY_MS).unref()
  }

  write(line: string): void {
    if (this.#chars + line.length > WAITING_CHARS_MAX) return
    this.#lines.push(line)
    this.#chars += line.length
    if (this.#chars >= WRITE_CHARS_MIN) this.#flush()
  }

  /** As the process exits: what waits, as far as it is taken. */
  end(): void {
    const until = performance.now() + END_MS_MAX
    let left = Buffer.concat([...(this.#refused ? [this.#refused] : []), this.#take()])
    while (left.length > 0) {
      try {
        left = left.subarray(writeSync(this.#fd, left))
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      }
    }
  }

  #flush(): void {
    if (this.#isWriting || this.#lines.length === 0) return
    this.#isWriting = true
    this.#write(this.#take())
  }

  #write(bytes: Buffer): void {
    this.#refused = null
    write(this.#fd, bytes, (error, written) => {
      if (error && isBusy(error)) {
        this.#refused = bytes
        setTimeout(() => this.#write(bytes), RETRY_MS).unref()
        return
      }
      if (!error && written < bytes.length) {
        this.#write(bytes.subarray(written))
        return
      }
      this.#isWriting = false
      if (this.#chars >= WRITE_CHARS_MIN) this.#flush()
    })
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#lines.join(''))
    this.#lines = []
    this.#chars = 0
    return bytes
  }
}

const isBusy = (error: unknown): boolean => ['EAGAIN', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
