// Bytes as text, in the character set that the file itself shows, then the one that it was sent with.
import { Unreadable } from './unreadable.ts'

/** A text of a million characters has at most four times as many bytes. */
const BYTES_MAX = 4_000_000
/** Enough to tell UTF-16, and files that are no text. */
const HEAD_BYTES = 4_096

export function plainText(file: Buffer, declared: string | null): string {
  const bytes = file.subarray(0, BYTES_MAX)
  return decode(bytes, markedCharset(bytes) ?? unmarkedCharset(bytes, declared))
}

/** By the byte order mark. */
function markedCharset(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return null
}

/**
 * What reads as UTF-8 is UTF-8, whatever was declared: text in another character set hardly ever does. ISO-2022-JP is ASCII
 * to every other reader, so that one is believed. Without a word from anybody it is what Windows writes in the west.
 */
function unmarkedCharset(bytes: Buffer, declared: string | null): string {
  const head = bytes.subarray(0, HEAD_BYTES)
  const zeros = [0, 0]
  head.forEach((byte, index) => byte === 0 && (zeros[index % 2]! += 1))
  if (zeros[0]! + zeros[1]! > 0) {
    const half = head.length / 2
    if (zeros[1]! > half / 2 && zeros[0]! < half / 10) return 'utf-16le'
    if (zeros[0]! > half / 2 && zeros[1]! < half / 10) return 'utf-16be'
    throw new Unreadable('It is not text.')
  }
  if (declared && /^iso-2022-/i.test(declared)) return declared
  return isUtf8(bytes) ? 'utf-8' : (declared ?? 'windows-1252')
}

/** A character that the limit of bytes cut through does not count against it. */
function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: bytes.length === BYTES_MAX })
    return true
  } catch {
    return false
  }
}

function decode(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
