// The words of a message as PostgreSQL keeps them, with where each word stands and how much it says about the message.
import { pairsOf, visitWords, type Segment } from './lexemes.ts'
import { bytesOf, vectorOf, weighted, type Weight } from './vector.ts'

export interface SearchDocument {
  subject: string
  text: string
  /** What the HTML shows where it says something else than the text. */
  htmlText: string
  /** Names and addresses: `Ann Lee <ann@example.com>`. */
  addresses: { from: readonly string[]; to: readonly string[] }
  attachmentNames: readonly string[]
  attachmentTexts: readonly string[]
}

/** Words of a field are stored a second time with its letter before them, for searches in that field alone. */
export const FIELDS = { subject: 's=', from: 'f=', to: 't=' } as const

/** A tsvector knows positions up to here; what stands behind is found as words and not as phrases. */
const POSITION_MAX = 16_382
/** Of one word. More are dropped by PostgreSQL. */
const POSITIONS_MAX = 255
/** A tsvector has at most 1,048,575 bytes. */
const BYTES_MAX = 900_000
/**
 * Different ones. A long book has 15,000; each is an entry in the index to be written, for every inbox that the mail is
 * in.
 */
const LEXEMES_MAX = 20_000
/** In all, however often each occurs: one character may fold into eighteen, and a mail has two million. */
const WORDS_MAX = 300_000
/** What a word costs besides its letters, and what a position costs. */
const [WORD_BYTES, POSITION_BYTES] = [16, 2]
/** Between fields, so that no phrase reaches from one into the next. */
const GAP = 10

/** How much a position says: A most, D least. A million characters of text take about 150 ms: for a thread. */
export function wordsOf(document: SearchDocument): Uint8Array {
  const words = new Words()
  words.add(document.subject, 'A', FIELDS.subject)
  for (const address of document.addresses.from) words.add(address, 'B', FIELDS.from)
  for (const address of document.addresses.to) words.add(address, 'B', FIELDS.to)
  for (const name of document.attachmentNames) words.add(name, 'B')
  words.add(document.text, 'C')
  if (document.htmlText !== '') words.add(document.htmlText, 'C')
  for (const text of document.attachmentTexts) words.add(text, 'D')
  return words.toVector()
}

class Words {
  /** Of each word, with their weights. */
  readonly #positions = new Map<string, number[]>()
  #bytes = 0
  #position = 0

  add(text: string, weight: Weight, field: string = ''): void {
    if (this.#position > 0) this.#position += GAP
    visitWords(text, {
      word: word => this.#put(word, ++this.#position, weight, field),
      compound: ({ segments, wholes }) => {
        for (const whole of wholes) this.#put(whole, this.#position + 1, weight, field)
        for (const segment of segments) this.#addSegment(segment, weight, field)
      },
      isFull: () => this.#bytes >= BYTES_MAX || this.#position >= WORDS_MAX,
    })
  }

  /** The last character of a dense run is also a word, so that each of its characters begins one. */
  #addSegment({ text, isDense }: Segment, weight: Weight, field: string): void {
    if (!isDense) return this.#put(text, ++this.#position, weight, field)
    for (const pair of pairsOf(text)) this.#put(pair, ++this.#position, weight, field)
    this.#put(String.fromCodePoint(text.codePointAt(text.length - lastLength(text))!), ++this.#position, weight, field)
  }

  #put(word: string, position: number, weight: Weight, field: string): void {
    this.#putOnce(word, position, weight)
    if (field !== '') this.#putOnce(field + word, position, weight)
  }

  #putOnce(word: string, position: number, weight: Weight): void {
    let positions = this.#positions.get(word)
    if (!positions) {
      if (this.#bytes >= BYTES_MAX || this.#positions.size >= LEXEMES_MAX) return
      this.#bytes += bytesOf(word) + WORD_BYTES
      this.#positions.set(word, (positions = []))
    }
    if (position > POSITION_MAX || positions.length >= POSITIONS_MAX || this.#bytes >= BYTES_MAX) return
    const entry = weighted(position, weight)
    // A whole and its first part may be the same word, at the same position.
    if (positions.at(-1) === entry) return
    this.#bytes += POSITION_BYTES
    positions.push(entry)
  }

  toVector(): Uint8Array {
    return vectorOf(this.#positions)
  }
}

const lastLength = (text: string): number => ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xdc00 ? 2 : 1)
