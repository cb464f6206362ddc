// Writes header fields: folding, encoded-words and parameters, so that every line is ASCII, short where it can be, and
// never longer than the 998 bytes that RFC 5322 §2.1.1 allows.

import assert from 'node:assert/strict'
import { type Address, formatAddress } from '../address/address.ts'
import { encodeWords, isPlainHeaderText } from './encoded-words.ts'

const LINE_CHARS = 78 // the recommended length of a line, RFC 5322 §2.1.1
// A word longer than this might, with a name before it, break the limit of 998, so it is cut into encoded-words.
const WORD_CHARS_MAX = 900

/** One field with its line break, folded at blanks. The value must be final: ASCII, or UTF-8 only in an address. */
export function headerLine(name: string, value: string): string {
  assert(!CONTROL.test(value), 'a header value holds no line break')
  if (value === '') return `${name}:\r\n`
  const line = `${name}: ${value}`
  return line.length <= LINE_CHARS ? `${line}\r\n` : `${fold(line)}\r\n`
}

/** A field of free text, such as the subject: a reader sees exactly this text, control characters as blanks. */
export function textHeader(name: string, text: string): string {
  if (isPlainHeaderText(text) && !hasHugeWord(text)) return headerLine(name, text)
  return headerLine(name, encodeWords(text.replace(/\p{Cc}/gu, ' '), name.length + 2))
}

/** A customer's field: ASCII goes as it is, so that structured values keep their form; the rest is encoded. */
export function customHeader(name: string, value: string): string {
  assert(!CONTROL.test(value), 'a custom header was accepted by checkCustomHeader')
  const trimmed = value.trim()
  const sendable = /^[\t -~]*$/.test(trimmed) && !hasHugeWord(trimmed)
  return headerLine(name, sendable ? trimmed : encodeWords(trimmed, name.length + 2))
}

/** A list of mailboxes. Only a local part in UTF-8 puts bytes over 127 here, because RFC 6532 gives no other form. */
export function addressHeader(name: string, addresses: readonly Address[]): string {
  return headerLine(name, addresses.map(formatAddress).join(', '))
}

/** `Name: value; parameter; parameter`, one parameter per line when they do not fit into one. */
export function parameterHeader(name: string, value: string, parameters: readonly string[]): string {
  const line = [`${name}: ${value}`, ...parameters].join('; ')
  if (line.length <= LINE_CHARS) return `${line}\r\n`
  return `${[`${name}: ${value}`, ...parameters].join(';\r\n ')}\r\n`
}

/** A date as RFC 5322 §3.3 wants it, always in UTC. */
export function formatDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000')
}

const CONTROL = /[^\P{Cc}\t]/u

const hasHugeWord = (text: string): boolean =>
  text.length > WORD_CHARS_MAX && text.split(' ').some(word => word.length > WORD_CHARS_MAX)

/** Breaks before a blank: unfolding removes only the break (RFC 5322 §2.2.3), so the value comes back unchanged. */
function fold(line: string): string {
  let folded = ''
  let start = 0
  while (line.length - start > LINE_CHARS) {
    const cut = lastBlankRun(line, start, start + LINE_CHARS) ?? nextBlankRun(line, start + LINE_CHARS)
    if (cut === null) break
    folded += `${line.slice(start, cut)}\r\n`
    start = cut
  }
  return folded + line.slice(start)
}

// A cut is made only where a run of blanks begins, so that no line consists of blanks alone: some receivers take such a
// line for the end of the header.
const beginsBlankRun = (line: string, at: number): boolean => line[at] === ' ' && line[at - 1] !== ' '

function lastBlankRun(line: string, start: number, from: number): number | null {
  for (let at = line.lastIndexOf(' ', from); at > start; at = line.lastIndexOf(' ', at - 1)) {
    if (beginsBlankRun(line, at)) return at
  }
  return null
}

function nextBlankRun(line: string, from: number): number | null {
  for (let at = line.indexOf(' ', from); at !== -1; at = line.indexOf(' ', at + 1)) {
    if (beginsBlankRun(line, at)) return at
  }
  return null
}
