// Content-Type and Content-Disposition: a value with parameters (RFC 2045 §5.1), also those in pieces and in charsets of their
// own (RFC 2231). Of a parameter that comes twice, the first counts, as with fields: scanners and readers must not differ.
import { decodeBytes } from './charset.ts'
import { decodeWords } from './encoded-words.ts'

export interface StructuredField {
  /** Lower case. */
  value: string
  params: Map<string, string>
  /** Of those, the ones that named their charset: what looks encoded in them is text. */
  decoded: Set<string>
}

const FIELD_CHARS_MAX = 65_536 // a name of a thousand characters in pieces and escapes is a tenth of it

export function parseStructuredField(text: string): StructuredField {
  const source = withoutComments(text.slice(0, FIELD_CHARS_MAX))
  const [, value = ''] = /^\s*([^;]*)/.exec(source) ?? []
  const raw = new Map<string, string>()
  PARAM.lastIndex = value.length
  for (let match = PARAM.exec(source); match && match[0] !== ''; match = PARAM.exec(source)) {
    const name = match[1]!.trim().toLowerCase()
    const text = match[2] === undefined ? (match[3] ?? '').trim() : match[2].replaceAll(/\\(.)/gs, '$1')
    if (name !== '' && !raw.has(name)) raw.set(name, text)
  }
  return {
    value: value
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .replaceAll(/\s+/g, '')
      .toLowerCase(),
    ...joinPieces(raw),
  }
}

/** A quote that is never closed ends with the field. What follows a closed quote is passed over. */
const PARAM = /[;\s]*([^=;]*)(?:=\s*(?:"((?:[^"\\]|\\[^])*)(?:"[^;]*|\\?$)|([^;]*)))?(?:;|$)/y

/** RFC 5322 §3.2.2: comments mean nothing, and nest. Quotes protect what only looks like one. */
function withoutComments(text: string): string {
  if (!text.includes('(')) return text
  let kept = ''
  let depth = 0
  let opened = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '\\') {
      if (depth === 0) kept += char + (text[at + 1] ?? '')
      at++
      continue
    }
    if (char === '"' && depth === 0) isQuoted = !isQuoted
    if (!isQuoted && char === '(' && depth++ === 0) opened = at
    if (depth === 0) kept += char
    if (!isQuoted && char === ')' && depth > 0) depth--
  }
  // A comment that is never closed would hide what decides how the body is read.
  return depth === 0 ? kept : kept + text.slice(opened)
}

const PIECES_MAX = 1_000

/** `name*0*=…; name*1=…` as one parameter: pieces in their order, escapes of neighbours decoded together. */
function joinPieces(raw: ReadonlyMap<string, string>): Pick<StructuredField, 'params' | 'decoded'> {
  const params = new Map<string, string>()
  const decoded = new Set<string>()
  const pieces = new Map<string, { n: number; isEncoded: boolean; text: string }[]>()
  for (const [name, text] of raw) {
    const match = /^([^*]+)\*(?:(\d{1,4})(\*?))?$/.exec(name)
    if (!match) params.set(name, text)
    else {
      const list = pieces.get(match[1]!) ?? []
      const isEncoded = match[2] === undefined || match[3] === '*'
      if (list.length < PIECES_MAX) list.push({ n: Number(match[2] ?? 0), isEncoded, text })
      pieces.set(match[1]!, list)
    }
  }
  for (const [name, list] of pieces) {
    list.sort((a, b) => a.n - b.n)
    const [, charset = '', rest] = (list[0]!.isEncoded && /^([^']*)'[^']*'(.*)$/s.exec(list[0]!.text)) || []
    if (rest !== undefined) list[0]!.text = rest
    if (charset !== '') decoded.add(name)
    const bytes = list.map(({ isEncoded, text }) => (isEncoded ? unescaped(text) : Buffer.from(text, 'utf8')))
    params.set(name, decodeBytes(Buffer.concat(bytes), charset || 'utf-8'))
  }
  return { params, decoded }
}

function unescaped(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  return Buffer.from(
    bytes.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  )
}

const PARAMS_CHARS_MAX = 200

/** Parameters that are tokens, to be written again: `; charset="koi8-r"`. What divides parts or names files is none of them. */
export function tokenParams({ params }: StructuredField): string | null {
  const written = [...params]
    .filter(
      ([name, value]) => !OWN_PARAMS.has(name) && /^[\w-]{1,40}$/.test(name) && /^[\w!#$&^+./:-]{1,100}$/.test(value),
    )
    .map(([name, value]) => `; ${name}="${value}"`)
    .join('')
  return written === '' || written.length > PARAMS_CHARS_MAX ? null : written
}

const OWN_PARAMS = new Set(['boundary', 'name', 'filename'])

/** What a part is called: by its disposition, else by its type. Encoded-words are not allowed there, and common. */
export function fileNameOf(disposition: StructuredField, type: StructuredField): string | null {
  const ofDisposition = disposition.params.get('filename')
  const written = ofDisposition || type.params.get('name') || ''
  const isDecoded = ofDisposition ? disposition.decoded.has('filename') : type.decoded.has('name')
  const name = (isDecoded ? written : decodeWords(written)).replaceAll(/[ \t\r\n]+/g, ' ').trim()
  return name === '' ? null : name.slice(0, FILE_NAME_CHARS_MAX).toWellFormed()
}

const FILE_NAME_CHARS_MAX = 1_000
