// Log lines for an open file, gathered into writes: a write per line costs more than the line. Where nobody reads any
// more, the disk is full, or lines come faster than they are read, they are lost; the process goes on, and can end. The
// next line that is taken is one that says how many.
import { fstatSync, write, writeSync } from 'node:fs'

const WRITE_CHARS_MIN = 12 * 1024
const WRITE_EVERY_MS = 1_000
/** Of lines that nobody takes; later ones are lost. */
const WAITING_CHARS_MAX = 8 * 1024 * 1024
const RETRY_MS = 10
const NEWLINE = 10
/** So long the last lines wait for a slow reader, within the time that a process has to end. */
const END_MS_MAX = 1_000

export class LineWriter {
  readonly #fd: number
  /** A disk takes its time, in another thread. A pipe takes what it has room for, which is known at once, also at the end. */
  readonly #mayBlock: boolean
  readonly #lineAbout: (lost: number) => string
  #lost = 0
  /** How many of them what is being written tells of. */
  #told = 0
  #lines: string[] = []
  #chars = 0
  #isWriting = false
  /** What the reader had no room for, until it is tried again. */
  #refused: Buffer | null = null

  /** `lineAbout` is written when lines were lost. */
  constructor(fd: number, lineAbout: (lost: number) => string) {
    this.#fd = fd
    this.#mayBlock = fstatSync(fd).isFile()
    this.#lineAbout = lineAbout
    setInterval(() => this.#flush(), WRITE_EVERY_MS).unref()
  }

  write(line: string): void {
    if (this.#chars + line.length > WAITING_CHARS_MAX) {
      this.#lost += 1
      return
    }
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
    if (this.#mayBlock) write(this.#fd, bytes, (error, written) => this.#wrote(bytes, written, error))
    else this.#writeNow(bytes)
  }

  #writeNow(bytes: Buffer): void {
    let [written, failure]: [number, unknown] = [0, null]
    try {
      written = writeSync(this.#fd, bytes)
    } catch (error) {
      failure = error
    }
    this.#wrote(bytes, written, failure)
  }

  #wrote(bytes: Buffer, written: number, error: unknown): void {
    if (error && isBusy(error)) {
      this.#refused = bytes
      setTimeout(() => this.#write(bytes), RETRY_MS).unref()
      return
    }
    if (!error && written < bytes.length) {
      this.#write(bytes.subarray(written))
      return
    }
    if (error) this.#lost += this.#told + bytes.filter(byte => byte === NEWLINE).length - Math.min(1, this.#told)
    this.#isWriting = false
    if (this.#chars >= WRITE_CHARS_MIN) this.#flush()
  }

  #take(): Buffer {
    this.#told = this.#lines.length > 0 ? this.#lost : 0
    this.#lost -= this.#told
    // Behind those that were waiting when they came.
    if (this.#told > 0) this.#lines.push(this.#lineAbout(this.#told))
    const bytes = Buffer.from(this.#lines.join(''))
    this.#lines = []
    this.#chars = 0
    return bytes
  }
}

const isBusy = (error: unknown): boolean => ['EAGAIN', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
