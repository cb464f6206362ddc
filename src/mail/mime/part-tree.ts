// The parts of a message: where each begins and ends in the source, and what its header says of it. One pass over the bytes,
// nothing is copied. Broken structure is read as mail readers do: a boundary of any open multipart ends all that is
// inside, and what is never closed ends with the message.
import { headerText } from './charset.ts'
import { type HeaderField, readFields } from './headers.ts'
import { parseStructuredField, type StructuredField } from './structured-field.ts'

export interface Part {
  fields: HeaderField[]
  type: StructuredField
  disposition: StructuredField
  /** Lower case. */
  encoding: string
  body: Buffer
  /** Empty unless it is a multipart that has any. */
  children: Part[]
  isMultipart: boolean
}

interface TreeLimits {
  depthMax: number
  partsMax: number
  /** Of all headers of all parts. */
  headerBytesMax: number
  /** Of the message's own header. */
  headerFieldsMax: number
}

export class TreeLimitExceeded extends Error {
  readonly limit: 'too_deep' | 'too_many_parts' | 'header_too_large'

  constructor(limit: TreeLimitExceeded['limit']) {
    super(`the message is over a limit: ${limit}`)
    this.limit = limit
  }
}

const LF = 10
const CR = 13
const DASH = 45

/** Throws `TreeLimitExceeded`. */
export function readParts(source: Buffer, limits: TreeLimits): Part {
  return new TreeReader(source, limits).read()
}

class TreeReader {
  readonly #source: Buffer
  readonly #limits: TreeLimits
  /** Multiparts that are not closed yet, outermost first. */
  readonly #open: { part: Part; boundary: string }[] = []
  #parts = 0
  #headerBytes = 0

  constructor(source: Buffer, limits: TreeLimits) {
    this.#source = source
    this.#limits = limits
  }

  read(): Part {
    const root = this.#begin(0, null)
    let leaf: { part: Part; bodyStart: number } | null = root
    let at = root.bodyStart
    for (;;) {
      const line = this.#nextBoundary(at)
      if (leaf)
        leaf.part.body = this.#source.subarray(
          leaf.bodyStart,
          line ? trimmedEnd(this.#source, leaf.bodyStart, line.start) : this.#source.length,
        )
      leaf = null
      if (!line) return root.part
      const { part } = this.#open[line.level]!
      // The line ends whatever is open inside; the end line closes the multipart itself too.
      this.#open.length = line.isEnd ? line.level : line.level + 1
      at = line.end
      if (line.isEnd) continue
      const child = this.#begin(at, part)
      part.children.push(child.part)
      leaf = child
      at = child.bodyStart
    }
  }

  #begin(start: number, parent: Part | null): { part: Part; bodyStart: number } {
    if (++this.#parts > this.#limits.partsMax) throw new TreeLimitExceeded('too_many_parts')
    const { headerEnd, bodyStart } = this.#headerBounds(start)
    this.#headerBytes += headerEnd - start
    if (this.#headerBytes > this.#limits.headerBytesMax) throw new TreeLimitExceeded('header_too_large')
    const fields = headerFields(this.#source.subarray(start, headerEnd))
    if (!parent && fields.length > this.#limits.headerFieldsMax) throw new TreeLimitExceeded('header_too_large')
    const first = (name: string): string => fields.find(field => field.lowerName === name)?.value ?? ''
    const type = parseStructuredField(first('content-type'))
    if (!type.value.includes('/')) type.value = defaultType(type.value, parent)
    const part: Part = {
      fields,
      type,
      disposition: parseStructuredField(first('content-disposition')),
      encoding:
        /[\w-]+/.exec(first('content-transfer-encoding').replaceAll(/\([^()]*\)/g, ''))?.[0].toLowerCase() ?? '',
      body: this.#source.subarray(bodyStart, bodyStart),
      children: [],
      isMultipart: type.value.startsWith('multipart/'),
    }
    const boundary = part.isMultipart ? type.params.get('boundary')?.trimEnd() : undefined
    if (boundary) {
      this.#open.push({ part, boundary })
      if (this.#open.length > this.#limits.depthMax + 1) throw new TreeLimitExceeded('too_deep')
    }
    return { part, bodyStart }
  }

  /** A part whose header runs into a boundary has no body. */
  #headerBounds(start: number): { headerEnd: number; bodyStart: number } {
    const source = this.#source
    const stop = this.#nextBoundary(start)?.start ?? source.length
    for (let at = start; at < stop;) {
      const feed = source.indexOf(LF, at)
      const next = feed === -1 ? source.length : feed + 1
      if (feed === at || (source[at] === CR && feed === at + 1)) return { headerEnd: at, bodyStart: next }
      if (next - start + this.#headerBytes > this.#limits.headerBytesMax)
        throw new TreeLimitExceeded('header_too_large')
      at = next
    }
    return { headerEnd: stop, bodyStart: stop }
  }

  /** The next line from there on that is a boundary of an open multipart. `start` must be the start of a line. */
  #nextBoundary(from: number): { start: number; end: number; level: number; isEnd: boolean } | null {
    if (this.#open.length === 0) return null
    const source = this.#source
    let start = from
    while (start < source.length) {
      if (source[start] === DASH && source[start + 1] === DASH) {
        const feed = source.indexOf(LF, start)
        const end = feed === -1 ? source.length : feed + 1
        const found =
          end - start > LINE_BYTES_MAX ? null : this.#matching(source.toString('latin1', start + 2, end).trimEnd())
        if (found) return { start, end, ...found }
      }
      const next = source.indexOf(LINE_OF_DASHES, start)
      if (next === -1) return null
      start = next + 1
    }
    return null
  }

  #matching(text: string): { level: number; isEnd: boolean } | null {
    const exact = this.#levelOf(text)
    if (exact !== -1) return { level: exact, isEnd: false }
    const dashes = text.lastIndexOf('--')
    if (dashes <= 0) return null
    // Something may stand behind the end: it is passed over with the rest of what follows.
    const level = this.#levelOf(text.slice(0, dashes))
    return level === -1 ? null : { level, isEnd: true }
  }

  #levelOf(boundary: string): number {
    return this.#open.findLastIndex(open => open.boundary.length === boundary.length && open.boundary === boundary)
  }
}

const LINE_OF_DASHES = Buffer.from('\n--')
const LINE_BYTES_MAX = 1_000 // RFC 2046 §5.1.1 allows 70 characters; some writers take more

/** RFC 2046 §5.1.1: the line break before a boundary belongs to the boundary. */
function trimmedEnd(source: Buffer, start: number, end: number): number {
  let trimmed = end
  if (trimmed > start && source[trimmed - 1] === LF) trimmed--
  if (trimmed > start && trimmed < end && source[trimmed - 1] === CR) trimmed--
  return trimmed
}

function defaultType(value: string, parent: Part | null): string {
  if (value === 'html') return 'text/html'
  return value === '' && parent?.type.value === 'multipart/digest' ? 'message/rfc822' : 'text/plain'
}

/** A mailbox file puts a line of its own above the header; no field begins like it. */
const MAILBOX_LINE = /^>?From [^\r\n]*\r?\n/

/** Fields unfolded. Bytes outside ASCII are not allowed there, and common; each field is read for itself. */
function headerFields(block: Buffer): HeaderField[] {
  const text = block.toString('latin1').replace(MAILBOX_LINE, '')
  return readFields(text.replaceAll(/(\r?\n)[ \t]+/g, '$1 ')).map(({ name, lowerName, value }) => ({
    name,
    lowerName,
    value: headerText(value),
  }))
}
