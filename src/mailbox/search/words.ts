// The words of a message as PostgreSQL keeps them: a tsvector in its text form, with where each word stands and how much it
// says about the message.
import { pairsOf, visitWords, type Segment } from './lexemes.ts'

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
export function wordsOf(document: SearchDocument): string {
  const words = new Words()
  words.add(document.subject, 'A', FIELDS.subject)
  for (const address of document.addresses.from) words.add(address, 'B', FIELDS.from)
  for (const address of document.addresses.to) words.add(address, 'B', FIELDS.to)
  for (const name of document.attachmentNames) words.add(name, 'B')
  words.add(document.text, 'C')
  if (document.htmlText !== '') words.add(document.htmlText, 'C')
  for (const text of document.attachmentTexts) words.add(text, 'D')
  return words.toString()
}

type Weight = 'A' | 'B' | 'C' | 'D'

interface Positions {
  count: number
  text: string
}

class Words {
  /** Of each word, as a tsvector writes them. */
  readonly #positions = new Map<string, Positions>()
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
      this.#bytes += Buffer.byteLength(word) + WORD_BYTES
      this.#positions.set(word, (positions = { count: 0, text: '' }))
    }
    if (position > POSITION_MAX || positions.count >= POSITIONS_MAX || this.#bytes >= BYTES_MAX) return
    this.#bytes += POSITION_BYTES
    // D is what PostgreSQL takes a position without a letter for.
    positions.text += `${positions.count++ === 0 ? ':' : ','}${position}${weight === 'D' ? '' : weight}`
  }

  /**
   * Words hold letters, digits, marks and `._+-@=`, which need no quotation marks. Joined from an array: a string that was
   * added to takes eight times the memory for as long as it is kept.
   */
  toString(): string {
    const parts: string[] = []
    for (const [word, { text }] of this.#positions) parts.push(word + text)
    return parts.join(' ')
  }
}

const lastLength = (text: string): number => ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xdc00 ? 2 : 1)
