// Reads what a client sends after DATA (RFC 5321 §4.5.2), in whatever pieces it arrives: finds the end, takes the
// doubled dots out, bounds the size, and notices what no message may hold. Only CRLF.CRLF is the end. Servers that
// also believe LF.LF or CR.CR can be made to see two messages where we see one (SMTP smuggling), so such a message is
// refused.

import { findBareLineBreak } from '../../mail/mime/headers.ts'

/** The source is taken once: the one that takes it decides how long its bytes stay in memory. */
export type DataOutcome = { kind: 'source'; takeSource: () => Buffer } | { kind: 'malformed' } | { kind: 'too_large' }

const CR = 13
const LF = 10
const DOT = 46
const LINE_DOT = Buffer.from('\r\n.')
const NOTHING = Buffer.alloc(0)
const CAPACITY_MIN = 4_096
/** Shorter runs are looked at and copied byte by byte: a call of the native search or copy costs more. */
const SHORT_BYTES = 32

/** What the last byte was: inside a line, a CR, the end of a line, the dot that opens a line, and a CR behind that. */
type ParserState = 'text' | 'cr' | 'lineStart' | 'dot' | 'dotCr'

export class DataReader {
  readonly #bytesMax: number
  /** One buffer that grows: a piece per line would cost thirty times the bytes where lines are short. */
  #source: Buffer = NOTHING
  // The line break that ended the DATA command stands before the first line.
  #state: ParserState = 'lineStart'
  #endedWithCr = false
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
    this.#inspect(end === -1 ? bytes : bytes.subarray(0, end))
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

  /** Ordinary lines are passed over natively, up to the next one that begins with a dot. */
  #decode(bytes: Buffer): number {
    let at = 0
    let kept = 0
    while (at < bytes.length) {
      switch (this.#state) {
        case 'text':
          at = this.#passText(bytes, at)
          break
        case 'cr':
          this.#state = bytes[at] === LF ? 'lineStart' : 'text'
          if (bytes[at] === LF) at++
          break
        case 'lineStart':
          this.#state = bytes[at] === DOT ? 'dot' : 'text'
          if (bytes[at] !== DOT) break
          // Either the first of two dots or the end: in both cases it is no part of the message.
          this.#keep(bytes, kept, at)
          kept = ++at
          break
        case 'dot':
          this.#state = bytes[at] === CR ? 'dotCr' : 'text'
          if (bytes[at] === CR) at++
          break
        case 'dotCr':
          if (bytes[at] === LF) return at + 1
          this.#state = 'text'
      }
    }
    // A CR after the dot belongs to the end, or it is a bare one, and then the message is refused without it.
    if (this.#state !== 'dotCr') this.#keep(bytes, kept, bytes.length)
    return -1
  }

  /** Where the next line begins, or the next one with a dot; at the end of the bytes `#state` says what they ended in. */
  #passText(bytes: Buffer, from: number): number {
    const near = Math.min(from + SHORT_BYTES, bytes.length - 1)
    for (let at = from; at < near; at++) {
      if (bytes[at] !== CR || bytes[at + 1] !== LF) continue
      this.#state = 'lineStart'
      return at + 2
    }
    const next = bytes.indexOf(LINE_DOT, from)
    if (next !== -1) {
      this.#state = 'lineStart'
      return next + 2
    }
    const last = bytes.length - 1
    const endsLine = bytes[last] === LF && last > from && bytes[last - 1] === CR
    this.#state = bytes[last] === CR ? 'cr' : endsLine ? 'lineStart' : 'text'
    return bytes.length
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    const source = this.#source
    if (source.length > 0) {
      if (end - start > SHORT_BYTES) bytes.copy(source, this.bytes, start, end)
      else for (let at = start, to = this.bytes; at < end; at++, to++) source[to] = bytes[at]!
    }
    this.bytes += end - start
  }

  /** Bare CR, bare LF and NUL, also where a pair of CR and LF came in two pieces. */
  #inspect(bytes: Buffer): void {
    if (bytes.length === 0 || this.#isMalformed) return
    const start = this.#endedWithCr && bytes[0] === LF ? 1 : 0
    if (this.#endedWithCr && start === 0) this.#isMalformed = true
    this.#endedWithCr = bytes.length > start ? bytes.at(-1) === CR : false
    const inside = bytes.subarray(start, this.#endedWithCr ? -1 : undefined)
    if (findBareLineBreak(inside) !== -1) this.#isMalformed = true
  }
}
