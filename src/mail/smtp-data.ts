// Reads what a client sends after DATA (RFC 5321 §4.5.2), in whatever pieces it arrives: finds the end, takes the
// doubled dots out, bounds the size, and notices what no message may hold. Only CRLF.CRLF is the end. Servers that
// also believe LF.LF or CR.CR can be made to see two messages where we see one (SMTP smuggling), so such a message is
// refused.

/** The source is handed over once: the one that takes it decides how long its bytes stay in memory. */
export type DataOutcome = { kind: 'source'; takeSource: () => Buffer } | { kind: 'malformed' } | { kind: 'too_large' }

const NUL = 0
const CR = 13
const LF = 10
const DOT = 46
const NOTHING = Buffer.alloc(0)
const CAPACITY_MIN = 4_096

/** What the last byte was: inside a line, a CR, the end of a line, the dot that opens a line, and a CR behind that. */
const TEXT = 0
const AFTER_CR = 1
const LINE_START = 2
const AFTER_DOT = 3
const AFTER_DOT_CR = 4

export class DataReader {
  readonly #bytesMax: number
  /** One buffer that grows: a piece per line would cost thirty times the bytes where lines are short. */
  #source: Buffer = NOTHING
  // The line break that ended the DATA command stands before the first line.
  #state = LINE_START
  #isMalformed = false
  /** Of the source so far, also of what was dropped because it is refused anyway. */
  bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isRefused(): boolean {
    return this.#isMalformed || this.bytes > this.#bytesMax
  }

  /** Memory in use, which is more than the bytes so far. */
  get capacity(): number {
    return this.#source.length
  }

  /** Takes the bytes up to the end of the data, and answers where that is in them; -1 when it is still to come. */
  push(bytes: Buffer): number {
    if (!this.isRefused) this.#reserve(bytes.length)
    const end = this.#decode(bytes)
    if (this.isRefused) this.#source = NOTHING
    return end
  }

  outcome(): DataOutcome {
    if (this.#isMalformed) return { kind: 'malformed' }
    if (this.bytes > this.#bytesMax) return { kind: 'too_large' }
    return { kind: 'source', takeSource: () => this.#takeSource() }
  }

  #takeSource(): Buffer {
    const source = this.#source.subarray(0, this.bytes)
    this.#source = NOTHING
    return source
  }

  #reserve(more: number): void {
    const needed = this.bytes + more
    if (needed <= this.#source.length) return
    const capacity = Math.max(CAPACITY_MIN, needed, Math.ceil(this.#source.length * 1.5))
    const larger = Buffer.allocUnsafeSlow(capacity)
    this.#source.copy(larger, 0, 0, this.bytes)
    this.#source = larger
  }

  /**
   * Byte by byte: a search for line breaks would be quicker for long lines and many times slower for short ones, and the
   * sender chooses. 36 MB take a tenth of a second, a piece at a time.
   */
  #decode(bytes: Buffer): number {
    const source = this.#source
    const isKept = source.length > 0
    let state = this.#state
    let written = this.bytes
    let isMalformed = this.#isMalformed
    let end = -1
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (state === LINE_START && byte === DOT) {
        // Either the first of two dots or the end: in both cases it is no part of the message.
        state = AFTER_DOT
        continue
      }
      if (state === AFTER_DOT && byte === CR) {
        state = AFTER_DOT_CR
        continue
      }
      if (state === AFTER_DOT_CR && byte === LF) {
        end = at + 1
        break
      }
      const isBroken = byte === LF ? state !== AFTER_CR : state === AFTER_CR || state === AFTER_DOT_CR || byte === NUL
      if (isBroken) isMalformed = true
      state = byte === CR ? AFTER_CR : byte === LF && state === AFTER_CR ? LINE_START : TEXT
      if (isKept) source[written] = byte
      written += 1
    }
    this.#state = state
    this.#isMalformed = isMalformed
    this.bytes = written
    return end
  }
}
