// The line above a quote that says whose words it quotes: `On Monday, Ann <ann@example.com> wrote:`, in whatever language.
import * as words from './reply-words.ts'

/** Marks of the direction of writing, which clients put around names and addresses. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Zoho closes the line with dashes. */
const plainly = (text: string): string => text.replaceAll(DIRECTIONS, '').replace(/\s-{3,6}\s{0,3}$/, ':')

const ENDS_WITH_COLON = /[:：]\s{0,3}[*_]{0,2}\s{0,3}$/
/** `2010/2/28 Ann <ann@example.com>`, as Gmail wrote it once. */
const WITHOUT_COLON = /^\s{0,3}\d{4}[-/]\d{1,2}[-/]\d{1,2}\s[^<>]{0,80}<[^\s<>@]{1,64}@[^\s<>@]{1,253}>\s{0,3}$/u

/** Whether the line ends as one does. */
export const closesAttribution = (line: string): boolean =>
  ENDS_WITH_COLON.test(plainly(line)) || WITHOUT_COLON.test(line)

export const isDatedOpening = (line: string): boolean =>
  words.OPENING_PATTERN.test(line) && words.DATE_PATTERN.test(line)

/** Null when it is none; true when it could hardly be a sentence of the author's. The text may be folded lines, joined. */
export function attributionCertainty(folded: string): boolean | null {
  const text = plainly(folded)
  if (!words.OPENING_PATTERN.test(text)) return null
  const hasDate = words.DATE_PATTERN.test(text)
  const hasTime = words.TIME_PATTERN.test(text)
  // Some languages do without a verb: `Tue, 3 Mar 2026 at 9:14, Ann <ann@example.com>:`.
  if (hasDate && hasTime && words.AUTHOR_LAST_PATTERN.test(text)) return true
  const hasAddress = words.ADDRESS_PATTERN.test(text)
  if (!words.WROTE_PATTERN.test(text) || (!hasAddress && !hasDate)) return null
  return (hasAddress || hasTime) && words.CLOSING_PATTERN.test(text.trimEnd())
}

/** Whether one line names a date, a time and an address, as it does in languages whose verb we do not know. */
export function isDatedAuthor(line: string): boolean {
  const text = plainly(line)
  if (WITHOUT_COLON.test(text) || words.QUOTING_PATTERN.test(text)) return true
  return (
    ENDS_WITH_COLON.test(text) &&
    words.DATE_PATTERN.test(text) &&
    words.TIME_PATTERN.test(text) &&
    /<[^\s<>]+@/.test(text)
  )
}

/** Yahoo on phones lets the quoted message begin behind the colon. */
export function opensWithAttribution(line: string): boolean {
  const colon = line.indexOf(':', line.indexOf('@'))
  return line.includes('@') && colon !== -1 && attributionCertainty(line.slice(0, colon + 1)) === true
}
