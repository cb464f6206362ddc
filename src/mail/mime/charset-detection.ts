// The charset of bytes that come without a label, or with one that the bytes belie.
import { TextDecoder } from 'node:util'
import { decoderOf, tryDecode } from './charset-decoders.ts'

const DETECTED_BYTES = 8_192 // as much as tells one language from another

/** Bytes without a label that could be believed: the charset in which they look most like words. */
export function decodeUndeclared(bytes: Uint8Array, declared: string): string {
  const head = wholeCharacters(bytes.subarray(0, DETECTED_BYTES))
  // A text that is nearly all UTF-8 was damaged on its way, or cut inside a character.
  const asUtf8 = new TextDecoder('utf-8').decode(head)
  const broken = asUtf8.split('\ufffd').length - 1
  const high = asUtf8.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0
  if (high > broken * 4) return new TextDecoder('utf-8').decode(bytes)
  if (declared === 'iso-8859-1' || declared === 'windows-1252') return decoderOf('windows-1252')!.decode(bytes)
  const best = CANDIDATES.map(candidate => ({ candidate, score: scoreOf(candidate, head) }))
    .filter(({ score }) => score > 0)
    .reduce((first, next) => (next.score > first.score ? next : first), { candidate: FALLBACK, score: 0 })
  const label = best.candidate.isWord === isCyrillic ? likelierRussian(head) : best.candidate.label
  return decoderOf(label)!.decode(bytes)
}

/** Of a hundred letters of Russian text, how many are these. */
const FREQUENCY = new Map(
  (
    'о11 е8.5 а8 и7.4 н6.7 т6.3 с5.5 р4.7 в4.5 л4.4 к3.5 м3.2 д3 п2.8 у2.6 я2 ы1.9 ' +
    'ь1.7 г1.7 з1.6 б1.6 ч1.4 й1.2 х1 ж0.9 ш0.7'
  )
    .split(' ')
    .map(each => [each[0]!, Number(each.slice(1))]),
)
const SELDOM = 0.3

/** Both charsets have the same letters at other places: in the right one the frequent letters are frequent. */
function likelierRussian(head: Uint8Array): string {
  const [windows, koi8] = ['windows-1251', 'koi8-r'].map(label => russianScore(decoderOf(label)!.decode(head)))
  return koi8! > windows! ? 'koi8-r' : 'windows-1251'
}

function russianScore(text: string): number {
  let sum = 0
  for (const word of text.match(/\p{L}+/gu) ?? []) {
    if (!isCyrillic(word)) continue
    for (const letter of word) {
      const small = letter.toLowerCase()
      // Most letters are small.
      sum += (FREQUENCY.get(small) ?? SELDOM) * (letter === small ? 1 : 0.9)
    }
  }
  return sum
}

interface Candidate {
  label: string
  /** Characters that its languages use all the time. */
  common: RegExp
  isWide: boolean
  /** Which words are looked at; all, where nothing is said. */
  isWord?: (word: string) => boolean
}

/**
 * An accented letter beside plain Latin ones is no Cyrillic, nor is one by itself. What is small in one Cyrillic charset is
 * capital in the other: a word that begins small and goes on in capitals is a sign of the wrong one.
 */
const isCyrillic = (word: string): boolean => isForeign(word) && !/^\p{Ll}+\p{Lu}/u.test(word)
const isLatin = (word: string): boolean => !isForeign(word)
const isForeign = (word: string): boolean => word.length > 1 && !/[A-Za-z]/.test(word)

const FALLBACK: Candidate = {
  label: 'windows-1252',
  common: /[àâäåçèéêëíîïñóôöøùúûüßÀÄÅÇÉÑÖØÜ€“”’‘–]/g,
  isWide: false,
  isWord: isLatin,
}
const CANDIDATES: readonly Candidate[] = [
  { label: 'windows-1251', common: /[аеинострвлкмпуябыь]/gi, isWide: false, isWord: isCyrillic },
  { label: 'koi8-r', common: /[аеинострвлкмпуябыь]/gi, isWide: false, isWord: isCyrillic },
  { label: 'shift_jis', common: /[ぁ-んァ-ヶー。、]/g, isWide: true },
  { label: 'euc-jp', common: /[ぁ-んァ-ヶー。、]/g, isWide: true },
  { label: 'euc-kr', common: /[가-힣]/g, isWide: true },
  {
    label: 'gb18030',
    common: /[的一是不了在有我他这个们中来上大为和国地到以说时要就出会可也你对生能，。]/g,
    isWide: true,
  },
  {
    label: 'big5',
    common: /[的一是不了在有我他這個們中來上大為和國地到以說時要就出會可也你對生能，。]/g,
    isWide: true,
  },
  FALLBACK,
]

/** The share of its high characters that are common ones, more for a charset that fits by bytes in pairs. */
function scoreOf({ label, common, isWide, isWord }: Candidate, bytes: Uint8Array): number {
  const text = isWide ? tryDecode(label, bytes) : decoderOf(label)!.decode(bytes)
  if (text === null) return 0
  const high = text.match(/[^\0-\x7f]/g)?.length ?? 0
  if (high === 0) return 0
  const looked = isWord ? text.replaceAll(/\p{L}+/gu, word => (isWord(word) ? word : '')) : text
  const found = looked.match(common) ?? []
  // Most letters are small.
  const capitals = found.filter(letter => /\p{Lu}/u.test(letter)).length
  return ((found.length - capitals / 50) / high) * (isWide ? 1.2 : 1)
}

/** Without a character that the cut at the end may have halved. */
function wholeCharacters(head: Uint8Array): Uint8Array {
  if (head.length < DETECTED_BYTES) return head
  let end = head.length
  while (end > head.length - 8 && head[end - 1]! >= 0x80) end--
  return head.subarray(0, end)
}
