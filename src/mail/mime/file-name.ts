// The name of an attachment as it may be shown and stored: what a sender calls a file can lead out of a folder, end a
// line, or read `cod.exe` backwards.

const NAME_BYTES_MAX = 200 // file systems allow 255; the rest is for what a browser adds
const EXTENSION_CHARS_MAX = 20

/** Names that mean a device on Windows, with any extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** A name that is safe in every file system and in a header; null when nothing of it is left. */
export function safeFileName(declared: string | null): string | null {
  if (declared === null) return null
  const visible = declared
    .normalize('NFC')
    .toWellFormed()
    // Control and format characters: line breaks, zero widths and those that turn the direction of what follows.
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\ufffd]+/gu, '')
    .replaceAll(/\p{Z}+/gu, ' ')
  const base = visible.split(/[/\\]/).at(-1)!
  const name = withoutDots(base.replaceAll(/[<>:"|?*]+/g, '_'))
  if (name === '') return null
  return shortened(DEVICES.test(name) ? `_${name}` : name)
}

/** A name of dots is a folder, and Windows drops dots and blanks at the end. */
function withoutDots(name: string): string {
  let start = 0
  let end = name.length
  while (start < end && name[start] === ' ') start++
  while (end > start && (name[end - 1] === '.' || name[end - 1] === ' ')) end--
  return name.slice(start, end)
}

/** With its dot; empty where there is none. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.')
  return dot > 0 && name.length - dot <= EXTENSION_CHARS_MAX ? name.slice(dot) : ''
}

/** The end says what a file is, so it is kept. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return name
  const extension = extensionOf(name)
  const stem = Buffer.from(name, 'utf8').subarray(0, NAME_BYTES_MAX - Buffer.byteLength(extension))
  // A character that the cut halves becomes U+FFFD, and goes.
  return stem.toString('utf8').replace(/\ufffd+$/, '') + extension
}
