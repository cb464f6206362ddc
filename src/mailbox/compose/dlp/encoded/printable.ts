// Text within a file of another kind: behind the first bytes of a picture, in its comments and properties. Compressed data has
// short runs of printable characters by chance, and none that a detector takes for something.

/** No number that is looked for is shorter. */
const RUN_CHARS_MIN = 8
/** As long as the text of a file may be; more of it says nothing new. */
const CHARS_MAX = 1_000_000

/** Samples and pixels as they are: of a dark picture they are digits, so that only runs with letters count. */
const RAW = /^(?:BM|II\*\0|MM\0\*|RIFF.{4}(?:WAVE|AVI )|FORM)/s

/** One run in a line, with a character between that belongs to no number, word or token. */
export function printableIn(bytes: Uint8Array): string {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isRaw = RAW.test(file.toString('latin1', 0, 16))
  const runs: string[] = []
  let chars = 0
  const add = (run: string): void => {
    if (chars >= CHARS_MAX || (isRaw && !/[a-z]{3}/i.test(run))) return
    runs.push(run)
    chars += run.length
  }
  for (let at = 0; at < file.length; at++) {
    if (printable[file[at]!] === 0) continue
    const start = at
    while (at < file.length && printable[file[at]!] === 1) at++
    if (at - start >= RUN_CHARS_MIN) add(file.toString('latin1', start, Math.min(at, start + CHARS_MAX)))
  }
  // Characters of two bytes: each has a zero behind it or before it.
  for (let at = file.indexOf(0, 1); at !== -1; at = file.indexOf(0, at + 1)) {
    const start = at - 1
    let end = start
    while (end + 1 < file.length && printable[file[end]!] === 1 && file[end + 1] === 0) end += 2
    if (end - start < 2 * RUN_CHARS_MIN) continue
    add(file.toString('utf16le', start, Math.min(end, start + 2 * CHARS_MAX)))
    at = end
  }
  return runs.join('\n^\n')
}

const printable = new Uint8Array(256).fill(1, 32, 127)
for (const control of '\t\n\r') printable[control.charCodeAt(0)] = 1
