// Bytes of any charset as text. Mail declares charsets wrongly, under names that nobody registered, or not at all; what is
// declared is believed only as far as the bytes agree with it.
import { isAscii } from 'node:buffer'
import { TextDecoder } from 'node:util'

/** What a header field says, given byte by byte: bytes outside ASCII are not allowed there, and common. */
export const headerText = (latin1: string): string =>
  EIGHT_BIT.test(latin1) ? decodeBytes(Buffer.from(latin1, 'latin1')) : latin1

// eslint-disable-next-line no-control-regex -- shift sequences of Japanese text count as eight-bit
const EIGHT_BIT = /[\x80-\xff\x1b]/

/** The text. Never throws: a byte that means nothing becomes U+FFFD. */
export function decodeBytes(bytes: Uint8Array, declared?: string | null): string {
  const label = normaliseLabel(declared ?? '')
  const special = label === '' ? undefined : SPECIAL[label]
  if (special) return special(bytes)
  if (isAscii(bytes) && !bytes.includes(ESCAPE) && !SHIFTED.has(label)) return asLatin1(bytes)
  if (DOUBTED.has(label) && JAPANESE_SHIFT.test(asLatin1(bytes))) return decoderOf('iso-2022-jp')!.decode(bytes)
  // UTF-8 is hardly ever met by chance, so bytes that are UTF-8 are read as such where the label promises less.
  if (DOUBTED.has(label)) return tryDecode('utf-8', bytes) ?? decodeUndeclared(bytes, label)
  const decoder = decoderOf(label)
  return decoder ? decoder.decode(bytes) : (tryDecode('utf-8', bytes) ?? decodeUndeclared(bytes, ''))
}

const ESCAPE = 0x1b
/** Labels under which everything is sent: their bytes are looked at first. */
const DOUBTED = new Set(['', 'utf-8', 'us-ascii', 'iso-8859-1', 'windows-1252'])
// eslint-disable-next-line no-control-regex -- the charset is made of control characters
const JAPANESE_SHIFT = /\x1b\$[@B]|\x1b\([BJ]/
/** Charsets whose text may be all ASCII bytes and yet mean something else. */
const SHIFTED = new Set(['iso-2022-jp', 'utf-16', 'utf-16le', 'utf-16be'])

const ALIASES: Record<string, string> = {
  utf8: 'utf-8',
  'utf-8mb4': 'utf-8',
  ascii: 'us-ascii',
  'ansi_x3.4-1968': 'us-ascii',
  '646': 'us-ascii',
  default: '',
  none: '',
  unknown: '',
  'unknown-8bit': '',
  'user-defined': '',
  binary: '',
  latin1: 'iso-8859-1',
  latin: 'iso-8859-1',
  iso8859: 'iso-8859-1',
  'iso-8859': 'iso-8859-1',
  cp1252: 'windows-1252',
  ansi: 'windows-1252',
  gb2312: 'gb18030',
  gbk: 'gb18030',
  gb: 'gb18030',
  cp936: 'gb18030',
  ms936: 'gb18030',
  'windows-936': 'gb18030',
  'gb_2312-80': 'gb18030',
  cp950: 'big5',
  'windows-950': 'big5',
  big5hkscs: 'big5',
  cp932: 'shift_jis',
  'windows-932': 'shift_jis',
  shiftjis: 'shift_jis',
  's-jis': 'shift_jis',
  eucjp: 'euc-jp',
  'iso-2022-jp-1': 'iso-2022-jp',
  'iso-2022-jp-2': 'iso-2022-jp',
  'iso-2022-jp-ms': 'iso-2022-jp',
  cp50220: 'iso-2022-jp',
  cp50221: 'iso-2022-jp',
  cp50222: 'iso-2022-jp',
  jis7: 'iso-2022-jp',
  jis: 'iso-2022-jp',
  cp949: 'euc-kr',
  uhc: 'euc-kr',
  euckr: 'euc-kr',
  ks_c_5601: 'euc-kr',
  'ksc5601-1987': 'euc-kr',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  'iso-8859-8-i': 'iso-8859-8',
  'unicode-1-1-utf-7': 'utf-7',
  utf7: 'utf-7',
  'hz-gb': 'hz-gb-2312',
  hz: 'hz-gb-2312',
}

/** In lower case, without quotes, language (RFC 2231 §5) and what clients put around a known name. */
function normaliseLabel(declared: string): string {
  const bare = declared
    .slice(0, 100)
    .replace(/\*.*$/, '')
    .replaceAll(/[^\w.:-]/g, '')
    .toLowerCase()
  if (ALIASES[bare] !== undefined) return ALIASES[bare]
  const plain = bare
    .replace(/^x-(?:ms-|sun-|mac-(?!roman|cyrillic|ukrainian))?/, '')
    .replace(/^(?:win|cp|windows|ms|ibm)[-_]?(125\d|874)$/, 'windows-$1')
    .replace(/^iso[-_]?8859[-_]?(\d+).*$/, 'iso-8859-$1')
  return ALIASES[plain] ?? (decoderOf(plain) ? plain : bare)
}

const decoders = new Map<string, TextDecoder | null>()
const DECODERS_MAX = 500 // more labels than there are; a message may invent any number

/** Null for a label that names no charset we know. */
function decoderOf(label: string): TextDecoder | null {
  if (label === '') return null
  const known = decoders.get(label)
  if (known !== undefined) return known
  let decoder: TextDecoder | null = null
  try {
    decoder = new TextDecoder(label)
  } catch {
    // An invented label is answered with null, and remembered like a known one.
  }
  if (decoders.size < DECODERS_MAX) decoders.set(label, decoder)
  return decoder
}

const strictDecoders = new Map<string, TextDecoder>()

/** Null when the bytes are not text of that charset. */
function tryDecode(label: string, bytes: Uint8Array): string | null {
  let decoder = strictDecoders.get(label)
  if (!decoder) strictDecoders.set(label, (decoder = new TextDecoder(label, { fatal: true })))
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

const DETECTED_BYTES = 8_192 // as much as tells one language from another

/** Bytes without a label that could be believed: the charset in which they look most like words. */
function decodeUndeclared(bytes: Uint8Array, label: string): string {
  const head = wholeCharacters(bytes.subarray(0, DETECTED_BYTES))
  // A text that is nearly all UTF-8 was damaged on its way, or cut inside a character.
  const asUtf8 = new TextDecoder('utf-8').decode(head)
  const broken = asUtf8.split('\ufffd').length - 1
  const high = asUtf8.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0
  if (high > broken * 4) return new TextDecoder('utf-8').decode(bytes)
  if (label === 'iso-8859-1' || label === 'windows-1252') return decoderOf('windows-1252')!.decode(bytes)
  const best = CANDIDATES.map(candidate => ({ candidate, score: scoreOf(candidate, head) }))
    .filter(({ score }) => score > 0)
    .reduce((first, next) => (next.score > first.score ? next : first), { candidate: FALLBACK, score: 0 })
  return decoderOf(best.candidate.label)!.decode(bytes)
}

interface Candidate {
  label: string
  /** Characters that its languages use all the time. */
  common: RegExp
  isWide: boolean
}

const FALLBACK: Candidate = { label: 'windows-1252', common: /[àâäåçèéêëíîïñóôöøùúûüßÀÄÅÇÉÑÖØÜ€“”’‘–]/g, isWide: false }
const CANDIDATES: readonly Candidate[] = [
  { label: 'windows-1251', common: /[аеинострвлкмпуябыь]/g, isWide: false },
  { label: 'koi8-r', common: /[аеинострвлкмпуябыь]/g, isWide: false },
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
function scoreOf({ label, common, isWide }: Candidate, bytes: Uint8Array): number {
  const text = isWide ? tryDecode(label, bytes) : decoderOf(label)!.decode(bytes)
  if (text === null) return 0
  const high = text.match(/[^\0-\x7f]/g)?.length ?? 0
  const found = text.match(common)?.length ?? 0
  return high === 0 ? 0 : (found / high) * (isWide ? 1.2 : 1)
}

/** Without a character that the cut at the end may have halved. */
function wholeCharacters(head: Uint8Array): Uint8Array {
  if (head.length < DETECTED_BYTES) return head
  let end = head.length
  while (end > head.length - 8 && head[end - 1]! >= 0x80) end--
  return head.subarray(0, end)
}

const asLatin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

const SPECIAL: Record<string, (bytes: Uint8Array) => string> = {
  'utf-7': decodeUtf7,
  'hz-gb-2312': bytes => decodeShifted(bytes, /~\{([^~\r\n]*)(?:~\}|$)/gm, 'gb18030').replaceAll('~~', '~'),
  'iso-2022-kr': bytes =>
    // eslint-disable-next-line no-control-regex -- the charset is made of control characters
    decodeShifted(bytes, /\x0e([^\x0f\r\n]*)(?:\x0f|$)/gm, 'euc-kr').replace(/^\x1b\$\)C\r?\n?/, ''),
}

/** Charsets that shift between ASCII and pairs of seven bits: the pairs are those of an eight-bit charset. */
function decodeShifted(bytes: Uint8Array, run: RegExp, label: string): string {
  return asLatin1(bytes).replaceAll(run, (_, pairs: string) =>
    decoderOf(label)!.decode(Uint8Array.from(pairs, char => char.charCodeAt(0) | 0x80)),
  )
}

/** RFC 2152: UTF-16 in base64 between `+` and the first character that is not of its alphabet. */
function decodeUtf7(bytes: Uint8Array): string {
  return asLatin1(bytes).replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (_, run: string) =>
    run === '' ? '+' : new TextDecoder('utf-16be').decode(wholeUnits(Buffer.from(run, 'base64'))),
  )
}

const wholeUnits = (units: Buffer): Buffer => units.subarray(0, units.length & ~1)
