// Bytes of any charset as text. Mail declares charsets wrongly, under names that nobody registered, or not at all; what is
// declared is believed only as far as the bytes agree with it.
import { isAscii } from 'node:buffer'
import { decodeUndeclared } from './charset-detection.ts'
import { decoderOf, tryDecode } from './charset-decoders.ts'

/** What a header field says, given byte by byte: bytes outside ASCII are not allowed there, and common. */
export const headerText = (latin1: string): string =>
  EIGHT_BIT.test(latin1) ? decodeBytes(Buffer.from(latin1, 'latin1')) : latin1

// eslint-disable-next-line no-control-regex -- shift sequences of Japanese text count as eight-bit
const EIGHT_BIT = /[\x80-\xff\x1b]/

/** The text. Never throws: a byte that means nothing becomes U+FFFD. */
export function decodeBytes(bytes: Uint8Array, declared?: string | null): string {
  const label = normaliseLabel(declared ?? '')
  const special = SPECIAL.get(label)
  if (special) return special(bytes)
  if (isAscii(bytes) && !bytes.includes(ESCAPE) && !SHIFTED.test(label)) return asLatin1(bytes)
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
const SHIFTED = /^(?:iso-2022-jp|utf-?(?:16|32)(?:[bl]e)?)$/

const ALIASES = new Map(
  Object.entries({
    'utf-8': 'utf8 utf-8mb4',
    'us-ascii': 'ascii ansi_x3.4-1968 646',
    '': 'default none unknown unknown-8bit user-defined binary',
    'iso-8859-1': 'latin1 latin iso8859 iso-8859',
    'windows-1252': 'cp1252 ansi',
    gb18030: 'gb2312 gbk gb cp936 ms936 windows-936 gb_2312-80',
    big5: 'cp950 windows-950 big5hkscs',
    shift_jis: 'cp932 windows-932 shiftjis s-jis',
    'euc-jp': 'eucjp',
    'iso-2022-jp': 'iso-2022-jp-1 iso-2022-jp-2 iso-2022-jp-ms cp50220 cp50221 cp50222 jis7 jis',
    'euc-kr': 'cp949 uhc euckr ks_c_5601 ksc5601-1987',
    'koi8-r': 'koi8r',
    'koi8-u': 'koi8u',
    'iso-8859-8': 'iso-8859-8-i',
    'utf-7': 'unicode-1-1-utf-7 utf7',
    'hz-gb-2312': 'hz-gb hz',
  }).flatMap(([label, names]) => names.split(' ').map(name => [name, label])),
)

/** In lower case, without quotes, language (RFC 2231 §5) and what clients put around a known name. */
function normaliseLabel(declared: string): string {
  const bare = declared
    .slice(0, 100)
    .replace(/\*.*$/, '')
    .replaceAll(/[^\w.:-]/g, '')
    .toLowerCase()
  const known = ALIASES.get(bare)
  if (known !== undefined) return known
  const plain = bare
    .replace(/^x-(?:ms-|sun-|mac-(?!roman|cyrillic|ukrainian))?/, '')
    .replace(/^(?:win|cp|windows|ms|ibm)[-_]?(125\d|874)$/, 'windows-$1')
    .replace(/^iso[-_]?8859[-_]?(\d+).*$/, 'iso-8859-$1')
  return ALIASES.get(plain) ?? (decoderOf(plain) ? plain : bare)
}

const asLatin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')

const SPECIAL = new Map<string, (bytes: Uint8Array) => string>([
  ['utf-7', decodeUtf7],
  ['hz-gb-2312', bytes => decodeShifted(bytes, /~\{([^~\r\n]*)(?:~\}|$)/gm, 'gb18030').replaceAll('~~', '~')],
  [
    'iso-2022-kr',
    bytes =>
      // eslint-disable-next-line no-control-regex -- the charset is made of control characters
      decodeShifted(bytes, /\x0e([^\x0f\r\n]*)(?:\x0f|$)/gm, 'euc-kr').replace(/^\x1b\$\)C\r?\n?/, ''),
  ],
])

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
