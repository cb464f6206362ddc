// Cuts the bytes of an SMTP server into replies (RFC 5321 §4.2). Lenient about length and bare LF, strict about form:
// what does not begin with a code is no reply, and after one such line no later line can be trusted to answer what we
// asked.

export interface RawReply {
  code: number
  /** All lines as they came, codes included, joined by LF. `parseReply` makes them fit for people. */
  text: string
}

// RFC 5321 §4.5.3.1.5 allows 512 octets; servers put whole URLs and policies into theirs.
const LINE_BYTES_MAX = 4_096
const REPLY_BYTES_MAX = 65_536

const LF = 10
const CR = 13
const SPACE = 32
const DASH = 45
const ZERO = 48

export class ReplyReader {
  readonly #onReply: (reply: RawReply) => void
  #rest: Buffer | null = null
  #code = 0
  #lines = ''
  #bytes = 0

  constructor(onReply: (reply: RawReply) => void) {
    this.#onReply = onReply
  }

  /** Something has come that is not a whole reply yet. */
  get isInside(): boolean {
    return this.#rest !== null || this.#code !== 0
  }

  /** The chunk may be reused by the caller afterwards. Answers why the bytes cannot be replies, or null. */
  push(chunk: Buffer): string | null {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = null
    let start = 0
    for (let feed = bytes.indexOf(LF); feed !== -1; feed = bytes.indexOf(LF, start)) {
      const objection = this.#takeLine(bytes, start, feed)
      if (objection) return objection
      start = feed + 1
    }
    if (start === bytes.length) return null
    if (bytes.length - start > LINE_BYTES_MAX) return 'a reply line without end'
    this.#rest = Buffer.from(bytes.subarray(start))
    return null
  }

  #takeLine(bytes: Buffer, start: number, feed: number): string | null {
    const end = bytes[feed - 1] === CR && feed > start ? feed - 1 : feed
    this.#bytes += end - start
    if (end - start > LINE_BYTES_MAX) return 'a reply line too long'
    if (this.#bytes > REPLY_BYTES_MAX) return 'a reply without end'
    const code = end - start < 3 ? 0 : readCode(bytes, start)
    const mark = end - start > 3 ? bytes[start + 3] : SPACE
    if (code === 0 || (mark !== SPACE && mark !== DASH)) return 'something that is no SMTP reply'
    // RFC 5321 §4.2.1 wants one code in all lines. With two we cannot know whether it was a yes or a no.
    if (this.#code !== 0 && this.#code !== code) return 'a reply with two different codes'
    const line = bytes.toString('utf8', start, end)
    const text = this.#code === 0 ? line : `${this.#lines}\n${line}`
    if (mark === DASH) {
      this.#code = code
      this.#lines = text
      return null
    }
    this.#code = 0
    this.#lines = ''
    this.#bytes = 0
    this.#onReply({ code, text })
    return null
  }
}

/** 200 to 599, or 0: there is no other kind of SMTP reply. */
function readCode(bytes: Buffer, at: number): number {
  const hundreds = bytes[at]! - ZERO
  const tens = bytes[at + 1]! - ZERO
  const ones = bytes[at + 2]! - ZERO
  if (hundreds < 2 || hundreds > 5 || tens < 0 || tens > 9 || ones < 0 || ones > 9) return 0
  return hundreds * 100 + tens * 10 + ones
}
