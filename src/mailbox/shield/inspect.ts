// Looks at one mail and says what was found. Pure, and in proportion to the mail's size; it runs in a thread all the same,
// because the text is a stranger's.
import { inspectAttachment } from './attachment.ts'
import { finding, type Finding, type InspectedMail } from './finding.ts'
import { inspectHidden } from './hidden-text.ts'
import { findInstructions } from './instructions.ts'
import { inspectSenders } from './sender.ts'
import type { Mailbox } from '../../mail/mime/parsed-mail.ts'

const ATTACHMENTS_MAX = 1_000
const FINDINGS_MAX = 50

/** At most fifty findings, in the order of the mail's parts. */
export function inspectContent(mail: InspectedMail): Finding[] {
  const instructions = (where: Finding['where'], text: string): Finding[] => {
    const seen = findInstructions(text)
    return seen ? [finding('instructions', where, seen)] : []
  }
  const findings = [
    ...inspectSenders(mail.from, mail.replyTo),
    ...inNames('from', mail.from),
    ...inNames('reply_to', mail.replyTo),
    ...inNames('to', mail.to),
    ...inNames('cc', mail.cc),
    ...instructions('subject', mail.subject),
    ...instructions('text', mail.text),
    ...instructions('html', mail.htmlText),
    ...instructions('html', attributeTexts(mail.html ?? '')),
    ...inspectHidden(mail),
    ...mail.attachments.slice(0, ATTACHMENTS_MAX).flatMap(inspectAttachment),
    ...(mail.attachmentTexts ?? [])
      .slice(0, ATTACHMENTS_MAX)
      .flatMap(({ name, text }) => instructions(`attachment:${name.slice(0, 100)}`, text)),
  ]
  return findings.slice(0, FINDINGS_MAX)
}

/** Shorter ones have no place for an order. */
const NAME_CHARS_MIN = 12

/** Lists show who wrote and to whom, and a name may be a whole sentence. One finding is enough. */
function inNames(where: Finding['where'], people: readonly Mailbox[]): Finding[] {
  for (const { name } of people) {
    const seen = name.length < NAME_CHARS_MIN ? null : findInstructions(name)
    if (seen) return [finding('instructions', where, seen)]
  }
  return []
}

const HTML_CHARS_MAX = 4_000_000
const ATTRIBUTES_CHARS_MAX = 200_000

/** What images and links say to machines and on hovering. */
function attributeTexts(html: string): string {
  let texts = ''
  for (const [, value] of html
    .slice(0, HTML_CHARS_MAX)
    .matchAll(/\b(?:alt|title|aria-label|placeholder)="([^"]{12,10000})"/g)) {
    texts += `${value}\n\n`
    if (texts.length > ATTRIBUTES_CHARS_MAX) break
  }
  return texts
}
