// Whether a text repeats a passage of another one, whatever stands around it and however it is wrapped or marked.
import { LATIN_TWIN } from '../shield/confusables.ts'

/** So much in the same order is no accident: ten words, or twenty characters of a script that sets no blanks. */
const PASSAGE_WEIGHT = 20
/** A mail that is shorter counts where all of it is repeated, from four words on: less is said by everybody. */
const WHOLE_WEIGHT_MIN = 8
const [WORD_WEIGHT, CHARACTER_WEIGHT] = [2, 1]
/** What no language has as a word: so much of something encoded says as much as words of five letters. */
const LONG_WORD_CHARS = 30
/** Of a mail that is about to leave. */
const WORDS_MAX = 200_000

/** Texts, and what `packPassages` kept of others. */
export interface Tainted {
  texts: readonly string[]
  packed: readonly Uint8Array[]
}

export const hasAny = ({ texts, packed }: Tainted): boolean => texts.length + packed.length > 0

/**
 * Whether one of these says what another said. What is too long to be compared counts as repeating: a passage may stand
 * behind any number of words.
 */
export function repeatsAny(said: readonly string[], { texts, packed }: Tainted): boolean {
  const words = said.map(text => wordsOf(text, WORDS_MAX))
  if (words.some(({ isCut }) => isCut)) return texts.length + packed.length > 0
  const passages = new Set(words.flatMap(passagesOf))
  const repeats = ({ kind, hashes }: Kept): boolean =>
    kind === 'whole'
      ? words.some(each => contains(each, hashes))
      : passages.size > 0 && hashes.some(each => passages.has(each))
  const repeatsText = (other: string): boolean => {
    const kept = keptOf(other)
    return kept !== null && repeats(kept)
  }
  return texts.some(repeatsText) || packed.some(each => unpack(each).some(repeats))
}

/** What is compared of a text: numbers of its passages in any order, or of a short one those of all its words. */
interface Kept {
  kind: 'passages' | 'whole'
  hashes: number[]
}

function keptOf(text: string): Kept | null {
  const words = wordsOf(text)
  if (words.weight >= PASSAGE_WEIGHT) return { kind: 'passages', hashes: passagesOf(words) }
  return words.weight >= WHOLE_WEIGHT_MIN ? { kind: 'whole', hashes: words.hashes } : null
}

/** What a new mail can be compared with when the texts are gone. The words cannot be told from it. */
export function packPassages(texts: readonly string[]): Buffer {
  const kept = texts.flatMap(text => keptOf(text) ?? [])
  const passages = [...new Set(kept.flatMap(({ kind, hashes }) => (kind === 'passages' ? hashes : [])))]
  const whole = kept.flatMap(({ kind, hashes }) => (kind === 'whole' ? [-hashes.length, ...hashes] : []))
  const numbers = Int32Array.from([passages.length, ...passages, ...whole])
  return Buffer.from(numbers.buffer)
}

/** A count below zero is that of a short text. */
function unpack(packed: Uint8Array): Kept[] {
  // A copy: numbers must stand at a multiple of four bytes.
  const numbers = new Int32Array(new Uint8Array(packed).buffer)
  const kept: Kept[] = []
  for (let at = 0; at < numbers.length;) {
    const count = numbers[at]!
    const end = at + 1 + Math.abs(count)
    kept.push({ kind: count < 0 ? 'whole' : 'passages', hashes: [...numbers.subarray(at + 1, end)] })
    at = end
  }
  return kept
}

interface Words {
  hashes: number[]
  /** Two for a word, more for one that no language has, one for a character that stands for itself. */
  weights: number[]
  weight: number
  /** There were more than are compared. */
  isCut: boolean
}

/** A number for each passage. Two share one by chance once in four thousand million. */
function passagesOf({ hashes, weights }: Words): number[] {
  const passages: number[] = []
  for (let at = 0; at < hashes.length; at++) {
    let [hash, weight] = [17, 0]
    for (let n = at; n < hashes.length && weight < PASSAGE_WEIGHT; n++) {
      hash = (Math.imul(hash, 1_000_003) ^ hashes[n]!) | 0
      weight += weights[n]!
    }
    if (weight < PASSAGE_WEIGHT) break
    passages.push(hash)
  }
  return passages
}

function contains({ hashes }: Words, wanted: readonly number[]): boolean {
  for (let at = hashes.indexOf(wanted[0]!); at !== -1; at = hashes.indexOf(wanted[0]!, at + 1)) {
    if (wanted.every((hash, n) => hashes[at + n] === hash)) return true
  }
  return false
}

/** Scripts that set no blanks between words: each character stands for itself. */
const UNSPACED = String.raw`\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}`
const WORD = new RegExp(String.raw`[${UNSPACED}]|[[\p{L}\p{N}]--[${UNSPACED}]]+`, 'gv')
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'v')

function wordsOf(text: string, wordsMax = Infinity): Words {
  const words: Words = { hashes: [], weights: [], weight: 0, isCut: false }
  for (const [word] of plain(text).matchAll(WORD)) {
    if (words.hashes.length === wordsMax) return { ...words, isCut: true }
    let hash = 5381
    for (let at = 0; at < word.length; at++) hash = (Math.imul(hash, 33) ^ word.charCodeAt(at)) | 0
    const weight = weightOf(word)
    words.hashes.push(hash)
    words.weights.push(weight)
    words.weight += weight
  }
  return words
}

function weightOf(word: string): number {
  if (word.length > LONG_WORD_CHARS) return Math.min(PASSAGE_WEIGHT, WORD_WEIGHT * Math.floor(word.length / 5))
  return word.charCodeAt(0) > 127 && IS_UNSPACED.test(word) ? CHARACTER_WEIGHT : WORD_WEIGHT
}

/**
 * Without what nobody sees and in one form of each letter, as who copies by hand, or by a model, writes it. Letters that look
 * like Latin ones are read as those, in both texts: a passage in Russian is still the same passage.
 */
function plain(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text.toLowerCase()
  const visible = text.normalize('NFKD').replaceAll(INVISIBLE, '').toLowerCase()
  return visible.replaceAll(TWINS, letter => LATIN_TWIN.get(letter)!)
}

const INVISIBLE = /[\p{M}\p{Cf}\u115f\u1160\u3164\uffa0\u2800]+/gu
const TWINS = new RegExp(`[${[...LATIN_TWIN.keys()].join('')}]`, 'gu')
