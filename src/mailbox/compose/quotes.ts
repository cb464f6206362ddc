// Whether a text repeats a passage of another one, whatever stands around it and however it is wrapped or marked.

/** So many words in the same order are no accident. */
const WORDS_MIN = 10
/** Of one text; what is behind is not compared. */
const WORDS_MAX = 200_000

export function repeatsAny(text: string, others: readonly string[]): boolean {
  const passages = new Set(passagesOf(text))
  return passages.size > 0 && others.some(other => passagesOf(other).some(passage => passages.has(passage)))
}

/** A number for each run of words. Two runs share one by chance once in four thousand million. */
function passagesOf(text: string): number[] {
  const words = wordHashes(text)
  const passages: number[] = []
  for (let at = 0; at + WORDS_MIN <= words.length; at++) {
    let hash = 17
    for (let n = 0; n < WORDS_MIN; n++) hash = (Math.imul(hash, 1_000_003) ^ words[at + n]!) | 0
    passages.push(hash)
  }
  return passages
}

function wordHashes(text: string): number[] {
  const hashes: number[] = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 5381
    for (let at = 0; at < word.length; at++) hash = (Math.imul(hash, 33) ^ word.charCodeAt(at)) | 0
    hashes.push(hash)
    if (hashes.length === WORDS_MAX) break
  }
  return hashes
}
