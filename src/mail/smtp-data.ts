// Reads what a client sends after DATA (RFC 5321 §4.5.2), in whatever pieces it arrives: finds the end, takes the
// doubled dots out, bounds the size, and notices what no message may hold. Only CRLF.CRLF is the end. Servers that
// also believe LF.LF or CR.CR can be made to see two messages where we see one (SMTP smuggling), so such a message is
// refused.

import { findBareLineBreak } from './headers.ts'

/** The source is handed over once: who takes it decides how long its bytes stay in memory. */
export type DataOutcome = { kind: 'source'; takeSource: () => Buffer } | { kind: 'malformed' } | { kind: 'too_large' }

const CR = 13
const LF = 10
const DOT = 46
const LINE_DOT = Buffer.from('\r\n.')

/** Where the last byte left us: inside a line, after CR, at the start of a line, after its dot, after dot and CR. */
type Place = 'text' | 'cr' | 'start' | 'dot' | 'dotCr'

export class DataReader {
  readonly #bytesMax: number
  #chunks: Buffer[] = []
  // The line break that ended the DATA command stands before the first line.
  #place: Place = 'start'
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

  /** Takes the bytes up to the end of the data, and answers where that is in them; -1 when it is still to come. */
  push(bytes: Buffer): number {
    const end = this.#consume(bytes)
    this.#inspect(end === -1 ? bytes : bytes.subarray(0, end))
    if (this.isRefused) this.#chunks = []
    return end
  }

  outcome(): DataOutcome {
    if (this.#isMalformed) return { kind: 'malformed' }
    if (this.bytes > this.#bytesMax) return { kind: 'too_large' }
    return { kind: 'source', takeSource: () => this.#takeSource() }
  }

  #takeSource(): Buffer {
    const source = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    this.#chunks = []
    return source
  }

  #consume(bytes: Buffer): number {
    let at = 0
    let kept = 0
    while (at < bytes.length) {
      switch (this.#place) {
        case 'text': {
          const next = bytes.indexOf(LINE_DOT, at)
          this.#place = next === -1 ? placeAfter(bytes, at) : 'start'
          at = next === -1 ? bytes.length : next + 2
          break
        }
        case 'cr':
          this.#place = bytes[at] === LF ? 'start' : 'text'
          if (bytes[at] === LF) at++
          break
        case 'start':
          this.#place = bytes[at] === DOT ? 'dot' : 'text'
          if (bytes[at] !== DOT) break
          // Either the first of two dots or the end: in both cases it is no part of the message.
          this.#keep(bytes.subarray(kept, at))
          kept = ++at
          break
        case 'dot':
          this.#place = bytes[at] === CR ? 'dotCr' : 'text'
          if (bytes[at] === CR) at++
          break
        case 'dotCr':
          if (bytes[at] === LF) return at + 1
          this.#place = 'text'
      }
    }
    // A CR after the dot belongs to the end, or it is a bare one, and then the message is refused without it.
    if (this.#place !== 'dotCr') this.#keep(bytes.subarray(kept))
    return -1
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    this.bytes += piece.length
    if (!this.isRefused) this.#chunks.push(piece)
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

/** Where a line that does not hold the start of another stuffed line leaves us. */
function placeAfter(bytes: Buffer, from: number): Place {
  const last = bytes.length - 1
  if (bytes[last] === CR) return 'cr'
  return bytes[last] === LF && last > from && bytes[last - 1] === CR ? 'start' : 'text'
}
