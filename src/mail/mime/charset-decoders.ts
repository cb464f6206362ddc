// Decoders of charsets, by label. Most are the engine's; its tables of Korean and Hong Kong text lack what Windows added to
// the standards, and it has none of the charsets of DOS.
import { TextDecoder } from 'node:util'
import iconv from 'iconv-lite'

interface Decoder {
  /** A byte that means nothing becomes U+FFFD. */
  decode(bytes: Uint8Array): string
}

/** By the engine's name of the charset: whose tables are the library's. */
const FROM_LIBRARY: Record<string, string> = { 'euc-kr': 'cp949', big5: 'big5hkscs' }
/** Of the labels that only the library knows, those of charsets: it also calls base64 and such an encoding. */
const LIBRARY_LABEL =
  /^(?:(?:cp|ibm)[-_]?\d{3,5}|utf-?32(?:[bl]e)?|mac\w+|viscii|tcvn|tis-?620|armscii-?8|koi8-?(?:t|ru))$/

const decoders = new Map<string, Decoder | null>()
const DECODERS_MAX = 500 // more labels than there are; a message may invent any number

/** Null for a label that names no charset we know. */
export function decoderOf(label: string): Decoder | null {
  if (label === '') return null
  const known = decoders.get(label)
  if (known !== undefined) return known
  const ofEngine = engineDecoder(label)
  const decoder =
    libraryDecoder(ofEngine ? FROM_LIBRARY[ofEngine.encoding] : LIBRARY_LABEL.exec(label)?.[0]) ?? ofEngine
  if (decoders.size < DECODERS_MAX) decoders.set(label, decoder)
  return decoder
}

function engineDecoder(label: string): TextDecoder | null {
  try {
    return new TextDecoder(label)
  } catch {
    // An invented label is answered with null, and remembered like a known one.
    return null
  }
}

function libraryDecoder(label: string | undefined): Decoder | null {
  if (label === undefined || !iconv.encodingExists(label)) return null
  return { decode: bytes => iconv.decode(bytes as Buffer, label) }
}

const strictDecoders = new Map<string, TextDecoder>()

/** Null when the bytes are not text of that charset, as its standard has it. */
export function tryDecode(label: string, bytes: Uint8Array): string | null {
  let decoder = strictDecoders.get(label)
  if (!decoder) strictDecoders.set(label, (decoder = new TextDecoder(label, { fatal: true })))
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
