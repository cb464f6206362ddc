// Transparency of SMTP DATA (RFC 5321 §4.5.2): a line that begins with a dot gets a second one, and a lone dot ends the
// message. The message and its end are two buffers, so that an ordinary message is sent without being copied.

const LINE_DOT = Buffer.from('\r\n.')
const DOT = 46

/** The source with its leading dots doubled. The same buffer when, as almost always, no line begins with a dot. */
export function dotStuff(source: Buffer): Buffer {
  const first = source[0] === DOT ? 0 : nextLineDot(source, 0)
  if (first === -1) return source
  const pieces: Buffer[] = []
  let start = 0
  // Each piece ends with a dot and the next begins with the same dot again.
  for (let at = first; at !== -1; at = nextLineDot(source, at)) {
    pieces.push(source.subarray(start, at + 1))
    start = at
  }
  pieces.push(source.subarray(start))
  return Buffer.concat(pieces)
}

/** What follows the source on the wire: the dot on a line of its own, after a line break if the source lacks one. */
export function endOfData(source: Buffer): Buffer {
  const ended = source.length === 0 || (source.at(-2) === 13 && source.at(-1) === 10)
  return ended ? END_AFTER_BREAK : END
}

const END = Buffer.from('\r\n.\r\n')
const END_AFTER_BREAK = Buffer.from('.\r\n')

/** Where the next dot stands that opens a line, after the given position. */
function nextLineDot(source: Buffer, from: number): number {
  const at = source.indexOf(LINE_DOT, from)
  return at === -1 ? -1 : at + 2
}
