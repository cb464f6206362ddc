// Canonical forms of RFC 6376 §3.4, for signing and for verifying: what is hashed of a header field and of a body.

const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32

/** Relaxed header canonicalisation (RFC 6376 §3.4.2), without the line break at the end. */
export function relaxedField(field: string): string {
  const colon = field.indexOf(':')
  const value = field.slice(colon + 1).replaceAll('\r\n', '')
  // A single blank, by far the commonest run, is left alone.
  const collapsed = value.replaceAll(/\t[ \t]*| [ \t]+/g, ' ')
  return `${field.slice(0, colon).trimEnd().toLowerCase()}:${trimBlanks(collapsed)}`
}

// Only blank and tab are white space here; trim() would also take bytes like 0xa0, which the verifier keeps.
const trimBlanks = (value: string): string =>
  value.slice(value.startsWith(' ') ? 1 : 0, value.endsWith(' ') && value !== ' ' ? -1 : value.length)

/** The relaxed body as one piece, when it is so small that the shared buffer holds it. Null otherwise. */
export function smallRelaxedBody(source: Buffer, bodyStart: number): Buffer | null {
  if (source.length - bodyStart + 2 > SCRATCH.length) return null
  let end = source.length
  while (end > bodyStart && IS_LINE_SPACE[source[end - 1]!]) end--
  if (end === bodyStart) return EMPTY
  const length = collapseBlanks(source.subarray(bodyStart, end), 0)
  CRLF.copy(SCRATCH, length)
  return SCRATCH.subarray(0, length + 2)
}

/**
 * The relaxed body (RFC 6376 §3.4.4) in pieces: blanks collapsed, none at line ends, no empty lines at the end. A piece is
 * to be used before the next one is asked for. No piece takes more work than a block of 64 KB, whatever the body is like.
 */
export function* relaxedBody(source: Buffer, bodyStart: number): Generator<Buffer, void> {
  let end = source.length
  while (end > bodyStart && IS_LINE_SPACE[source[end - 1]!]) {
    end--
    if (end % BLOCK_BYTES === 0) yield EMPTY
  }
  let hasBlank = 0
  for (let start = bodyStart; start < end; start += BLOCK_BYTES) {
    const block = source.subarray(start, Math.min(start + BLOCK_BYTES, end))
    // Base64 has no blanks, and a native search tells so: a large attachment is never read byte by byte.
    if (hasBlank === 0 && !block.includes(SPACE) && !block.includes(TAB)) yield block
    else {
      const length = collapseBlanks(block, hasBlank)
      // A blank at the end of the block waits for what follows: another blank, or a line break that takes it away.
      hasBlank = IS_BLANK[block.at(-1)!]!
      yield SCRATCH.subarray(0, length - hasBlank)
    }
  }
  if (end > bodyStart) yield CRLF
}

/** The simple body (RFC 6376 §3.4.3) in pieces: as it is, with exactly one line break at its end. */
export function* simpleBody(source: Buffer, bodyStart: number): Generator<Buffer, void> {
  let end = source.length
  while (end >= bodyStart + 2 && source[end - 1] === LF && source[end - 2] === CR) {
    end -= 2
    if (end % BLOCK_BYTES < 2) yield EMPTY
  }
  for (let start = bodyStart; start < end; start += BLOCK_BYTES) {
    yield source.subarray(start, Math.min(start + BLOCK_BYTES, end))
  }
  yield CRLF
}

const EMPTY = Buffer.alloc(0)
const CRLF = Buffer.from('\r\n')
const BLOCK_BYTES = 65_536
// Filled and hashed within one synchronous call, so it can be shared. One more for the blank that a block before left.
const SCRATCH = Buffer.allocUnsafeSlow(BLOCK_BYTES + 1)

const table = (isIn: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (isIn(byte) ? 1 : 0))
const IS_LINE_SPACE = table(byte => byte === SPACE || byte === TAB || byte === CR || byte === LF)
const IS_BLANK = table(byte => byte === SPACE || byte === TAB)
const IS_CR = table(byte => byte === CR)
const TAB_AS_SPACE = Uint8Array.from({ length: 256 }, (_, byte) => (byte === TAB ? SPACE : byte))

/**
 * Writes the block with its blanks collapsed into the shared buffer, behind the blank that was left before it, if any, and
 * returns the length. There is no branch on what a byte is, because words end too irregularly for the processor to guess:
 * this takes half the time of the obvious loop. Each byte is written; a blank after a blank does not advance, and a line
 * end steps back over the blank before it.
 */
function collapseBlanks(block: Buffer, hasBlank: number): number {
  const target = SCRATCH
  const length = block.length
  target[0] = SPACE
  let offset = hasBlank
  let afterBlank = hasBlank
  for (let at = 0; at < length; at++) {
    const byte = block[at]!
    const blank = IS_BLANK[byte]!
    offset -= afterBlank & IS_CR[byte]!
    target[offset] = TAB_AS_SPACE[byte]!
    offset += 1 - (afterBlank & blank)
    afterBlank = blank
  }
  return offset
}
