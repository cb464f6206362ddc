// Addresses of a received header, as tolerant as mail readers are: names in every form, comments, groups, lists with
// semicolons, brackets and quotes that are never closed. One pass, and it stops when enough were read.
import { decodeWords } from './encoded-words.ts'
import type { Mailbox } from './parsed-mail.ts'

/** At most so many mailboxes. What is no address is left out. */
export function parseMailboxes(value: string, max: number): Mailbox[] {
  return new ListReader(value, max).read()
}

const NAME_CHARS_MAX = 10_000 // a name of a line's length, with each byte escaped

/** Loose on purpose: what a mail claims is shown as it stands, as far as it is an address at all. */
const ADDRESS = /^(?:"[^"]{0,200}"|[^\s@<>,;:"]{1,200})@[^\s@<>,;:"\\()]{1,255}$/

class ListReader {
  readonly #value: string
  readonly #max: number
  readonly #found: Mailbox[] = []
  /** The entry so far: words outside of brackets, comments, and what stands in brackets. */
  #words: string[] = []
  #comments: string[] = []
  #address: string | null = null

  constructor(value: string, max: number) {
    this.#value = value
    this.#max = max
  }

  read(): Mailbox[] {
    const value = this.#value
    let at = 0
    while (at < value.length && this.#found.length < this.#max) at = this.#step(at)
    this.#finish()
    return this.#found.slice(0, this.#max)
  }

  /** Reads what begins there, and answers where the next begins. */
  #step(at: number): number {
    const value = this.#value
    switch (value[at]) {
      case '"':
        return this.#quoted(at)
      case '(':
        return this.#comment(at)
      case '<':
        return this.#bracketed(at)
      case ',':
      case ';':
        this.#finish()
        return at + 1
      case ':':
        // The name of a group; in `mailto:` and the like the address follows too.
        this.#words = []
        return at + 1
      default: {
        PLAIN.lastIndex = at
        const plain = PLAIN.exec(value)?.[0] ?? value[at]!
        this.#words.push(plain)
        return at + plain.length
      }
    }
  }

  #quoted(at: number): number {
    QUOTED.lastIndex = at
    const [whole, content] = QUOTED.exec(this.#value)!
    const end = at + whole.length
    // `"a b"@example.com`: the quotes belong to the address.
    this.#words.push(this.#value[end] === '@' ? whole : content!.replaceAll(/\\(.)/gs, '$1'))
    return end
  }

  #comment(at: number): number {
    const value = this.#value
    let depth = 0
    let end = at
    for (; end < value.length; end++) {
      if (value[end] === '\\') end++
      else if (value[end] === '(') depth++
      else if (value[end] === ')' && --depth === 0) break
    }
    this.#comments.push(value.slice(at + 1, end))
    return end + 1
  }

  #bracketed(at: number): number {
    // A second address without a comma is an entry of its own.
    if (this.#address !== null) this.#finish()
    BRACKETED.lastIndex = at
    const [whole, content] = BRACKETED.exec(this.#value)!
    // RFC 5322 §4.4: a route in front of an address names relays of old, and not whom the mail is from.
    this.#address = content!.replace(/^\s*@[^:]*:/, '').replaceAll(/\s+/g, '')
    return at + whole.length
  }

  #finish(): void {
    if (this.#address !== null || this.#words.length > 0) this.#add()
    this.#words = []
    this.#comments = []
    this.#address = null
  }

  #add(): void {
    const phrase = this.#words.join('').slice(0, NAME_CHARS_MAX).trim()
    const comment = this.#comments.join(' ').slice(0, NAME_CHARS_MAX)
    const words = this.#address === null ? wordsIn(phrase) : []
    const bare = words.find(word => ADDRESS.test(word))
    const address = this.#address ?? (ADDRESS.test(phrase) ? phrase : bare)
    if (address !== undefined && ADDRESS.test(address)) {
      const name = this.#address !== null ? phrase : words.filter(word => word !== bare && phrase !== address).join(' ')
      this.#found.push({ name: shown(name) || shown(comment), address })
    }
  }
}

/** Blanks around the parts of an address are an old form of it (RFC 5322 §4.4). */
function wordsIn(phrase: string): string[] {
  const words = phrase.split(/\s+/)
  if (words.some(word => ADDRESS.test(word))) return words
  return phrase
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([@.]) ?/g, '$1')
    .split(' ')
}

const PLAIN = /[^"(<,;:]+/y
/** A quote that is never closed ends with the field; a bracket at the next comma. */
const QUOTED = /"((?:[^"\\]|\\[^])*)(?:"|\\?$)/y
const BRACKETED = /<((?:@[^<>:]*:)?[^<>,;]*)>?/y

const shown = (text: string): string => decodeWords(text).replaceAll(/\s+/g, ' ').trim()
