// Data-loss prevention: what a mail that is about to leave gives away. Every part of it is read as a person or a machine
// could read it: as it stands, with entities decoded and tags left out, and what is encoded in it.
import { decodedIn } from './encoded/base64.ts'
import { ENCODED_CHARS_MIN } from './encoded/decoding.ts'
import { unescapedIn } from './encoded/escapes.ts'
import { printableIn } from './encoded/printable.ts'
import { longWords, type Codes, type Word } from './characters.ts'
import type { Detector, Match } from './match.ts'
import { numbersIn } from './numbers.ts'
import { secretsIn } from './secrets.ts'
import { spelledIn } from './spelled.ts'
import { TOKEN_CHARS_MIN, tokensWithin } from './tokens.ts'
import { viewsOfHtml } from './html-view.ts'
import { viewOf, type View } from './view.ts'

export interface Scanned {
  subject: string
  text: string | null
  html: string | null
  attachments: readonly ScannedFile[]
  /** Their names and addresses. */
  recipients?: readonly string[]
}

interface ScannedFile {
  name: string | null
  text: string | null
  /** What the text was taken from, where that is text too. */
  source?: string | null
  /** Of a picture, a sound or a font. */
  bytes?: Uint8Array<ArrayBuffer> | null
  /** What else the caller says of it: its type and its content id. */
  labels?: readonly string[]
}

export interface Finding {
  detector: Detector
  /** Which of its kind, for a person. */
  label: string
  /** `subject`, `text`, `html`, `recipients`, `attachment_name`, `attachment_type`, `attachment:<name>`. */
  where: string
  /** The beginning and the end of what was found; the middle is left out. */
  excerpt: string
  /** Where it stands in that part, in UTF-16 units; null where it is encoded there, or not in the text of a file. */
  start: number | null
  end: number | null
}

/** What is decoded may be encoded again. */
const DECODED_DEPTH_MAX = 2

/** More say nothing new to the person who decides. */
const FINDINGS_MAX = 50

export function scan({ subject, text, html, attachments, recipients = [] }: Scanned): Finding[] {
  const findings = new Findings()
  findings.read('subject', viewOf(subject))
  if (text !== null) findings.read('text', viewOf(text))
  if (html !== null) {
    for (const view of viewsOfHtml(html)) findings.read('html', view)
  }
  for (const recipient of recipients) findings.read('recipients', viewOf(recipient))
  for (const { name, text: content, source, bytes, labels = [] } of attachments) {
    for (const label of labels) findings.read('attachment_type', viewOf(label))
    if (name !== null) findings.read('attachment_name', viewOf(name))
    if (content !== null) findings.read(`attachment:${name ?? ''}`, viewOf(content))
    if (source && saysMore(source, content)) findings.readSource(`attachment:${name ?? ''}`, source)
    if (bytes) findings.readSource(`attachment:${name ?? ''}`, printableIn(bytes))
  }
  return findings.list
}

/** What is encoded in a text, and in that again. */
export function encodedIn(text: string): string[] {
  const decoded: string[] = []
  for (let given = text; decoded.length < DECODED_DEPTH_MAX && given !== ''; given = decoded.at(-1)!) {
    const codes = viewOf(given)
    decoded.push(decodedFrom(codes, longWords(codes, WORD_CHARS_MIN)))
  }
  return decoded
}

const decodedFrom = (codes: Codes, words: readonly Word[]): string =>
  [decodedIn(codes, words), unescapedIn(codes)].filter(Boolean).join('^')

/** Blanks and line ends alone are no more. */
const saysMore = (source: string, text: string | null): boolean =>
  text === null || withoutBlanks(source) !== withoutBlanks(text)

const withoutBlanks = (text: string): string => text.replaceAll(/\s+/g, '')

class Findings {
  readonly list: Finding[] = []
  readonly #seen = new Set<string>()

  /** In something that nobody is shown: places in it say nothing. */
  readSource(where: string, source: string): void {
    for (const view of viewsOfHtml(source)) this.read(where, view, { isShown: false })
  }

  read(where: string, view: View, { isShown = true } = {}): void {
    if (this.list.length === FINDINGS_MAX) return
    let decoded = this.#readCodes(where, view, isShown ? view : null)
    for (let depth = 0; depth < DECODED_DEPTH_MAX && decoded !== ''; depth++) {
      decoded = this.#readCodes(where, viewOf(decoded), null)
    }
  }

  /** Answers what is encoded in it. */
  #readCodes(where: string, codes: Codes, view: View | null): string {
    const words = longWords(codes, WORD_CHARS_MIN)
    for (const matches of [numbersIn(codes), secretsIn(codes, words), spelledTokensIn(codes)]) {
      for (const match of matches) {
        this.#add(where, match, view)
        if (this.list.length === FINDINGS_MAX) return ''
      }
    }
    return decodedFrom(codes, words)
  }

  /** What stands in a mail several times, or in its text and its HTML, is one finding for each part. */
  #add(where: string, match: Match, view: View | null): void {
    const key = `${where} ${match.detector} ${match.value}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.list.push({
      detector: match.detector,
      label: match.label,
      where,
      excerpt: excerptOf(match),
      start: view && view.positionOf(match.start),
      end: view && view.positionOf(match.end - 1) + 1,
    })
  }
}

/** Of words that tokens and base64 are made of; shorter ones are neither. */
const WORD_CHARS_MIN = Math.min(TOKEN_CHARS_MIN, ENCODED_CHARS_MIN)

function* spelledTokensIn(given: Codes): Generator<Match> {
  const spelled = spelledIn(given)
  if (!spelled) return
  const { positions } = spelled
  for (const match of tokensWithin(spelled, spelled.words)) {
    yield { ...match, start: positions[match.start]!, end: positions[match.end - 1]! + 1 }
  }
}

/** An approver must recognise it, and nobody who reads the approval may use it. */
function excerptOf({ detector, value }: Match): string {
  if (detector === 'private_key') return value
  const shown = detector === 'us_ssn' ? 0 : Math.min(4, Math.floor(value.length / 5))
  return `${value.slice(0, shown)}…${value.slice(-4)}`
}
