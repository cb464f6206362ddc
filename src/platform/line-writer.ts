// Log lines for an open file, gathered into writes: a write per line costs more than the line. Where nobody reads any
// more, the disk is full, or lines come faster than they are read, they are lost; the process goes on, and can end. The
// next line that is taken is one that says how many.
import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'

const WRITE_CHARS_MIN = 12 * 1024
const WRITE_EVERY_MS = 1_000
/** Of lines that nobody takes; later ones are lost. */
const WAITING_CHARS_MAX = 8 * 1024 * 1024
/** Twice as long each time that a reader has no room. */
const RETRY_MS_MIN = 10
const RETRY_MS_MAX = 1_000
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
  /** The last line that was taken is half a line. */
  #isTorn = false
  #lines: string[] = []
  #chars = 0
  #isWriting = false
  /** What the reader had no room for, until it is tried again. */
  #refused: Buffer | null = null
  #retryMs = RETRY_MS_MIN

  /** `lineAbout` is written when lines were lost. */
  constructor(fd: number, lineAbout: (lost: number) => string) {
    this.#fd = ofItsOwn(fd)
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
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS_MIN)
      }
    }
  }

  #flush(): void {
    if (this.#isWriting || this.#lines.length === 0) return
    this.#isWriting = true
    this.#write(this.#take())
  }

  #write(bytes: Buffer, isRest = false): void {
    this.#refused = null
    if (!this.#mayBlock) return this.#writeNow(bytes, isRest)
    write(this.#fd, bytes, (error, written) => {
      if (error) this.#fail(bytes, { error, isRest })
      else if (written < bytes.length) this.#write(bytes.subarray(written), true)
      else this.#next()
    })
  }

  #writeNow(bytes: Buffer, isRest: boolean): void {
    let left = bytes
    try {
      while (left.length > 0) {
        left = left.subarray(writeSync(this.#fd, left))
        this.#retryMs = RETRY_MS_MIN
      }
    } catch (error) {
      this.#fail(left, { error, isRest: isRest || left.length < bytes.length })
      return
    }
    this.#next()
  }

  #fail(left: Buffer, { error, isRest }: { error: unknown; isRest: boolean }): void {
    if (isBusy(error)) {
      this.#refused = left
      setTimeout(() => this.#write(left, isRest), this.#retryMs).unref()
      this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs)
      return
    }
    this.#isTorn ||= isRest
    this.#lost += this.#told + left.filter(byte => byte === NEWLINE).length - Math.min(1, this.#told)
    this.#next()
  }

  #next(): void {
    this.#isWriting = false
    if (this.#chars >= WRITE_CHARS_MIN) this.#flush()
  }

  #take(): Buffer {
    this.#told = this.#lines.length > 0 ? this.#lost : 0
    this.#lost -= this.#told
    // Behind those that were waiting when they came.
    if (this.#told > 0) this.#lines.push(this.#lineAbout(this.#told))
    if (this.#isTorn && this.#lines.length > 0) {
      this.#lines.unshift('\n')
      this.#isTorn = false
    }
    const bytes = Buffer.from(this.#lines.join(''))
    this.#lines = []
    this.#chars = 0
    return bytes
  }
}

/**
 * A pipe opened anew: whether writing to it blocks would otherwise be decided by each process that shares it, and one that
 * exits makes it block. A socket cannot be opened so.
 */
function ofItsOwn(fd: number): number {
  if (!fstatSync(fd).isFIFO()) return fd
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    return fd
  }
}

const isBusy = (error: unknown): boolean => ['EAGAIN', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
