// A tsvector in PostgreSQL's binary form: the number of its words, then of each word its text, a zero, and its positions. As
// text it would be written out here, copied as an array of texts, and parsed there letter by letter.

/** Of a position, by how much it says. */
const WEIGHTS = { A: 3, B: 2, C: 1, D: 0 } as const

export type Weight = keyof typeof WEIGHTS

/** A position as PostgreSQL keeps it, of 14 bits, below its weight. */
export const weighted = (position: number, weight: Weight): number => (WEIGHTS[weight] << 14) | position

const COUNT_BYTES = 4
const ZERO_AND_COUNT_BYTES = 3
const POSITION_BYTES = 2

/** The type's number, which is the same in every installation. */
export const TSVECTOR = 3614

/** Words without zeros, each once; PostgreSQL sorts them. Positions ascend. */
export function vectorOf(words: ReadonlyMap<string, readonly number[]>): Uint8Array {
  let size = COUNT_BYTES
  for (const [word, positions] of words)
    size += bytesOf(word) + ZERO_AND_COUNT_BYTES + positions.length * POSITION_BYTES
  const vector = Buffer.allocUnsafe(size)
  let at = vector.writeUInt32BE(words.size)
  for (const [word, positions] of words) {
    at = writeWord(vector, word, at)
    vector[at++] = 0
    vector[at++] = positions.length >> 8
    vector[at++] = positions.length & 0xff
    // Not by an iterator, which makes an object for each.
    for (let n = 0; n < positions.length; n++) {
      vector[at++] = positions[n]! >> 8
      vector[at++] = positions[n]! & 0xff
    }
  }
  return vector
}

/** Of a word in UTF-8. Most are short and of ASCII: the call that tells it of any string takes longer than looking. */
export function bytesOf(word: string): number {
  for (let at = 0; at < word.length; at++) if (word.charCodeAt(at) > 0x7f) return Buffer.byteLength(word)
  return word.length
}

function writeWord(vector: Buffer, word: string, from: number): number {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at)
    if (code > 0x7f) return from + vector.write(word, from)
    vector[from + at] = code
  }
  return from + word.length
}

/** Its first words, as many as fit. */
export function firstWords(vector: Uint8Array, bytesMax: number): Uint8Array {
  if (vector.length <= bytesMax) return vector
  const bytes = bufferOf(vector)
  let count = 0
  let end = COUNT_BYTES
  for (;;) {
    const positionsAt = bytes.indexOf(0, end) + 1
    const next = positionsAt + 2 + bytes.readUInt16BE(positionsAt) * POSITION_BYTES
    if (next > bytesMax) break
    end = next
    count++
  }
  const first = Buffer.from(bytes.subarray(0, end))
  first.writeUInt32BE(count)
  return first
}

/** What comes from a thread is no Buffer any more. */
export const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
