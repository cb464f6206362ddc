// Transparency of SMTP DATA (RFC 5321 §4.5.2): a line that begins with a dot gets a second one, and a lone dot ends the
// message. The message and its end are two buffers, so that an ordinary message is sent without being copied.

import { findBareLineBreak } from '../mail/mime/headers.ts'

const LINE_DOT = Buffer.from('\r\n.')
const CR = 13
const LF = 10
const DOT = 46

/** A message as it goes over the wire. */
interface WireForm {
  /** The source with its leading dots doubled. The same buffer when, as almost always, no line begins with a dot. */
  content: Buffer
  /** Such a message must not be sent: it may look like two. */
  hasBareLineBreak: boolean
}

/** Made once for all recipients of a message: 36 MB take a third of a second. */
const known = new WeakMap<Buffer, WireForm>()

export function wireForm(source: Buffer): WireForm {
  const form = known.get(source) ?? { content: dotStuff(source), hasBareLineBreak: findBareLineBreak(source) !== -1 }
  known.set(source, form)
  return form
}

/** For a source whose form was made in another thread. */
export const rememberWireForm = (source: Buffer, form: WireForm): void => void known.set(source, form)

export const dotStuff = (source: Buffer): Buffer =>
  source[0] === DOT || source.includes(LINE_DOT) ? doubled(source) : source

/**
 * Into one buffer: a piece per line would cost thirty times the bytes where lines are short. The shortest line with a dot
 * has three bytes, so no more than a third is added; memory that is never written to costs nothing.
 */
function doubled(source: Buffer): Buffer {
  const result = Buffer.allocUnsafeSlow(source.length + Math.ceil(source.length / 3))
  let written = 0
  let isLineStart = true
  let last = 0
  for (let at = 0; at < source.length; at++) {
    const byte = source[at]!
    if (isLineStart && byte === DOT) result[written++] = DOT
    result[written++] = byte
    isLineStart = byte === LF && last === CR
    last = byte
  }
  return result.subarray(0, written)
}

/** What follows the source on the wire: the dot on a line of its own, after a line break if the source lacks one. */
export function endOfData(source: Buffer): Buffer {
  const ended = source.length === 0 || (source.at(-2) === 13 && source.at(-1) === 10)
  return ended ? END_AFTER_BREAK : END
}

const END = Buffer.from('\r\n.\r\n')
const END_AFTER_BREAK = Buffer.from('.\r\n')
