// Data-loss prevention: what a mail that is about to leave gives away. Every part of it is read as a person or a machine
// could read it: as it stands, with entities decoded and tags left out, and what base64 in it stands for.
import { isUtf8 } from 'node:buffer'
import { beginOfBase64, codesOf, digitRuns, endOfBase64, isBase64At, type Codes } from './characters.ts'
import { ibansIn } from './iban.ts'
import type { Detector, Match } from './match.ts'
import { numbersIn } from './numbers.ts'
import { secretsIn } from './secrets.ts'
import { viewOf, viewsOfHtml, type View } from './view.ts'

export interface Scanned {
  subject: string
  text: string | null
  html: string | null
  /** With what else the caller says of a file: its type and its content id. */
  attachments: readonly { name: string | null; text: string | null; labels?: readonly string[] }[]
  /** Display names of recipients. */
  names?: readonly string[]
}

export interface Finding {
  detector: Detector
  /** Which of its kind, for a person. */
  label: string
  /** `subject`, `text`, `html`, `recipients`, `attachment_name`, `attachment_type`, `attachment:<name>`. */
  where: string
  /** The beginning and the end of what was found; the middle is left out. */
  excerpt: string
  /** Where it stands in that part, in UTF-16 units; null where it was found in something encoded. */
  start: number | null
  end: number | null
}

/** More say nothing new to whoever decides. */
const FINDINGS_MAX = 50

export function scan({ subject, text, html, attachments, names = [] }: Scanned): Finding[] {
  const findings = new Findings()
  findings.read('subject', subject)
  if (text !== null) findings.read('text', text)
  if (html !== null) {
    const { shown, unseen } = viewsOfHtml(html)
    findings.readView('html', shown)
    findings.readView('html', unseen)
  }
  for (const name of names) findings.read('recipients', name)
  for (const { name, text: content, labels = [] } of attachments) {
    for (const label of labels) findings.read('attachment_type', label)
    if (name !== null) findings.read('attachment_name', name)
    if (content !== null) findings.read(`attachment:${name ?? ''}`, content)
  }
  return findings.list
}

class Findings {
  readonly list: Finding[] = []
  readonly #seen = new Set<string>()

  read(where: string, given: string): void {
    this.readView(where, viewOf(given))
  }

  readView(where: string, view: View): void {
    for (const match of matchesIn(view)) this.#add(where, match, view)
    for (const decoded of decodedIn(view)) {
      for (const match of matchesIn(viewOf(decoded))) this.#add(where, match, null)
    }
  }

  /** What stands in a mail several times, or in its text and its HTML, is one finding for each part. */
  #add(where: string, match: Match, view: View | null): void {
    const key = `${where} ${match.detector} ${match.value}`
    if (this.#seen.has(key) || this.list.length >= FINDINGS_MAX) return
    this.#seen.add(key)
    this.list.push({
      detector: match.detector,
      label: match.label,
      where,
      excerpt: excerptOf(match),
      start: view && view.placeOf(match.start),
      end: view && view.placeOf(match.end - 1) + 1,
    })
  }
}

function matchesIn(given: Codes): Match[] {
  const runs = digitRuns(given)
  return [...numbersIn(given, runs), ...ibansIn(given, runs), ...secretsIn(given)]
}

/** An approver must recognise it, and nobody who reads the approval may use it. */
function excerptOf({ detector, value }: Match): string {
  if (detector === 'private_key') return value
  const shown = detector === 'us_ssn' ? 0 : Math.min(4, Math.floor(value.length / 5))
  return `${value.slice(0, shown)}…${value.slice(-4)}`
}

/** Long enough for the shortest of what is looked for. */
const ENCODED_CHARS_MIN = 12

/** Twice: what is decoded may hold base64 again. */
const decodedIn = (given: Codes, depth = 2): string[] =>
  encodedIn(given).flatMap(encoded => {
    const decoded = decode(encoded)
    if (decoded === null) return []
    return depth > 1 ? [decoded, ...decodedIn(codesOf(decoded), depth - 1)] : [decoded]
  })

/** Whole words of its letters; lines of them, as mail programs write it, are one. Shorter words are stepped over. */
function encodedIn(given: Codes): string[] {
  const found: string[] = []
  for (let probe = ENCODED_CHARS_MIN - 1; probe < given.codes.length; probe += ENCODED_CHARS_MIN) {
    if (!isBase64At(given, probe)) continue
    const start = beginOfBase64(given, probe)
    let end = endOfBase64(given, probe)
    if (end - start < ENCODED_CHARS_MIN) continue
    for (let next = lineAfter(given, end); next !== end; next = lineAfter(given, end)) end = endOfBase64(given, next)
    found.push(given.text.slice(start, end))
    probe = end
  }
  return found
}

/** Where the next line begins, when it goes on in the same letters. */
function lineAfter(given: Codes, end: number): number {
  const next = given.text.startsWith('\r\n', end) ? end + 2 : given.text[end] === '\n' ? end + 1 : end
  return next > end && isBase64At(given, next) ? next : end
}

/** Null where it is a word, an id or a file: what comes out is no text. */
function decode(encoded: string): string | null {
  // The first characters tell most of them: text has no control characters and is UTF-8.
  const head = Buffer.from(encoded.slice(0, 12), 'base64')
  if (!looksLikeText(head, { isWhole: false })) return null
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.length >= 9 && looksLikeText(bytes, { isWhole: true }) ? bytes.toString('utf8') : null
}

function looksLikeText(bytes: Buffer, { isWhole }: { isWhole: boolean }): boolean {
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte < 32 ? byte !== 9 && byte !== 10 && byte !== 13 : byte === 127) return false
  }
  return !isWhole || isUtf8(bytes)
}
