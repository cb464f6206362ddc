// Bounces written for people: qmail, Exim, Exchange and others that send no part for machines. They are brought into
// the fields of RFC 3464, so that one reader serves both.

import { parseAddressOnly } from '../address/address.ts'
import { anyOf } from './any-of.ts'
import { DELAYED_ABROAD } from './bounce-languages.ts'
import { noticeOf } from './bounce-notice.ts'
import { isBounceNotice } from './bounce-sender.ts'
import { type HeaderField, readFields, valueOf } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'
import { answerIn, logicalLines } from './server-answer.ts'

const RECIPIENTS_MAX = 100

/** The fields that a report about each recipient would have had; empty when the message is no bounce. */
export function readTextBounce(mail: ParsedMail, notice: Notice): HeaderField[][] {
  if (!isBounceNotice(mail, notice.text)) return []
  const action = isStillTrying(mail.subject ?? '', notice.text) ? 'delayed' : 'failed'
  const groups = fieldsInText(notice.text) ?? recipientsInText(mail, notice)
  return groups
    .slice(0, RECIPIENTS_MAX)
    .map(group => (valueOf(group, 'action') === null ? [...group, field('Action', action)] : group))
}

/** What a report says to people. */
export interface Notice {
  text: string
  sections: Section[]
  /** What it says about a recipient, for fields that tell machines too little. */
  about(recipient: string | null): Said
}

interface Said {
  /** Of a server, from its code on. */
  answer: string
  words: string
}

/** A report may name a hundred recipients: whatever is looked for in its text is looked for once. */
export function readNotice(mail: ParsedMail): Notice {
  const text = noticeOf(mail)
  const sections = sectionsOf(text)
  const lines = logicalLines(text)
  const whole = { answer: answerIn(lines) ?? '', words: wordsOf(lines) }
  // A transcript of a session has the answer on a line that names the recipient.
  const answers = lines.flatMap(line => {
    const answer = line.includes('@') ? answerIn([line]) : null
    return answer === null ? [] : [{ line: line.toLowerCase(), answer }]
  })
  const sectionLines = new Map(sections.map(section => [section.address.toLowerCase(), logicalLines(section.text)]))
  const known = new Map<string, Said>()
  const read = (recipient: string): Said => {
    const own = sectionLines.get(recipient) ?? []
    const naming = answers.find(({ line }) => line.includes(recipient))
    return { answer: answerIn(own) ?? naming?.answer ?? whole.answer, words: wordsOf(own) || whole.words }
  }
  const about = (recipient: string | null): Said => {
    if (recipient === null) return whole
    const key = recipient.toLowerCase()
    const said = known.get(key) ?? read(key)
    known.set(key, said)
    return said
  }
  return { text, sections, about }
}

const REPORT_FIELDS = 'final-recipient|original-recipient|action|status|diagnostic-code|remote-mta'
const REPORT_FIELD = new RegExp(`^[ \\t]*(?:${REPORT_FIELDS})[ \\t]*:`, 'i')

/** Fields of RFC 3464 in the middle of ordinary text, with the lines that continue them. */
function fieldsInText(notice: string): HeaderField[][] | null {
  const groups: HeaderField[][] = []
  const lines: string[] = []
  let isInside = false
  for (const line of notice.split('\n')) {
    if (REPORT_FIELD.test(line)) lines.push(line.trimStart())
    else if (isInside && /^[ \t]+\S/.test(line)) lines.push(` ${line.trim()}`)
    isInside = lines.length > 0 && (REPORT_FIELD.test(line) || (isInside && /^[ \t]+\S/.test(line)))
  }
  for (const one of readFields(lines.join('\n'))) {
    const group = groups.at(-1)
    if (!group || valueOf(group, one.lowerName) !== null) groups.push([one])
    else group.push(one)
  }
  const telling = groups.filter(
    group => valueOf(group, 'diagnostic-code') !== null || valueOf(group, 'status') !== null,
  )
  return telling.length > 0 ? telling : null
}

/** One for each recipient that the notice names; without one the notice as a whole is about whom it was sent to. */
function recipientsInText(mail: ParsedMail, notice: Notice): HeaderField[][] {
  const named = [...notice.sections.map(({ address }) => address), ...failedRecipients(mail)]
  const recipients = new Map(named.map(address => [address.toLowerCase(), address]))
  const reasonFor = (recipient: string | null): HeaderField => {
    const { answer, words } = notice.about(recipient)
    return field('Diagnostic-Code', answer || words)
  }
  if (recipients.size === 0) return [[reasonFor(null)]]
  return [...recipients.values()].map(address => [field('Final-Recipient', address), reasonFor(address)])
}

function failedRecipients(mail: ParsedMail): string[] {
  const named = (valueOf(mail.headers, 'x-failed-recipients') ?? '').split(',', RECIPIENTS_MAX)
  return named.map(name => name.trim()).filter(name => parseAddressOnly(name) !== null)
}

interface Section {
  address: string
  /** What the notice says of it. */
  text: string
}

// Neither part holds an at sign: a run of them would be cut in two at every place.
const ADDRESS = String.raw`[^\s<>"'(),:;@]{1,64}@[^\s<>"'(),:;@]{1,255}`
const LABEL =
  '(?:failed |intended |invalid |unknown )?(?:recipient|address|addressee|user|error-for)(?: address| name)?'
/** Lines that begin with whom they are about: alone, in brackets and with a colon, or under a label. */
const NAMES_RECIPIENT: readonly RegExp[] = [
  new RegExp(String.raw`^[ \t"'*-]{0,20}<?(${ADDRESS})>?["']?[ \t]*(?::[ \t]*)?$`),
  new RegExp(String.raw`^[ \t]{0,20}["']?<?(${ADDRESS})>?["']?:(.*)$`),
  new RegExp(String.raw`^[ \t]{0,20}${LABEL}[ \t]*[:=][ \t]*<?(${ADDRESS})>?(.*)$`, 'i'),
  new RegExp(String.raw`^[ \t]{0,20}<?(${ADDRESS})>?[ \t]+(\S.*)$`),
]
/** Sendmail's transcript: what was said on the lines before led to this. */
const CONCLUDES = new RegExp(String.raw`^[45]\d\d (?:[45]\.\d{1,3}\.\d{1,3} )?<?(${ADDRESS})>?\.\.\. `)

function sectionsOf(notice: string): Section[] {
  const sections = new Map<string, Section>()
  const sectionOf = (address: string): Section => {
    const section = sections.get(address.toLowerCase()) ?? { address, text: '' }
    sections.set(address.toLowerCase(), section)
    return section
  }
  let current: Section | null = null
  let unclaimed = ''
  for (const line of notice.split('\n')) {
    const concluded = CONCLUDES.exec(line.slice(0, LINE_CHARS_MAX))
    const named = concluded ? null : namedIn(line)
    if (concluded && parseAddressOnly(concluded[1]!)) {
      sectionOf(concluded[1]!).text += `${unclaimed}${line}\n`
      unclaimed = ''
      continue
    }
    if (named) current = sectionOf(named.address)
    if (current) current.text += `${named ? named.rest : line}\n`
    else if (line.startsWith('<<<')) unclaimed += `${line}\n`
    else if (/while talking to /i.test(line.slice(0, 40))) unclaimed = ''
    if (sections.size >= RECIPIENTS_MAX) break
  }
  return [...sections.values()]
}

const LINE_CHARS_MAX = 1_000

function namedIn(line: string): { address: string; rest: string } | null {
  if (!line.includes('@')) return null
  for (const pattern of NAMES_RECIPIENT) {
    const match = pattern.exec(line.slice(0, LINE_CHARS_MAX))
    const address = match && parseAddressOnly(match[1]!.replace(/[.,]+$/, ''))?.address
    if (address) return { address, rest: match[2] ?? '' }
  }
  return null
}

const WORDS_CHARS_MAX = 1_000

const wordsOf = (lines: readonly string[]): string => lines.join(' ').slice(0, WORDS_CHARS_MAX).trim()

const DELAY_SUBJECT = anyOf(/\bdelay(?:ed)?\b|\bwarning\b|still being retried|incomplete/, DELAYED_ABROAD)
const STILL_TRYING = anyOf(
  /still being retried|will (?:continue|keep|be (?:retried|re-?attempted))|will (?:re)?try (?:for|again)/,
  /not yet been delivered|(?:do|need) not (?:need to )?resend|attempts? will continue|warning (?:message )?only/,
  /(?:message|mail|delivery)[^.\n]{0,60}\b(?:has been|is|was|being) delayed/,
)
const GAVE_UP = anyOf(
  /not going to try (?:again|it again)|(?:i've|have|has) given up|giving up|will not be retried|expired/,
  /no (?:longer|further|more) (?:be )?(?:deliver|attempt|tr[iy])|permanent(?:ly)? (?:error|fail|fatal)|failed permanently/,
)

function isStillTrying(subject: string, notice: string): boolean {
  if (STILL_TRYING.test(notice)) return !GAVE_UP.test(notice)
  return DELAY_SUBJECT.test(subject) && !GAVE_UP.test(notice) && !/fail|undeliver|return/i.test(subject)
}

const field = (name: string, value: string): HeaderField => ({ name, lowerName: name.toLowerCase(), value })
