// What a mail from outside says about a delivery: a verdict on it, a complaint, a wish to be left alone, or nothing. Pure, so
// that it can be read in a thread of its own, and the same reading compared with a collection of reports.

import { readArf, type ArfReport } from './arf.ts'
import { classifyDsn, readDsn, type DsnReport } from './dsn.ts'
import { displayText } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'
import type { Verdict } from './verdict.ts'
import { tokensIn } from '../address/verp.ts'

/** The original's header may be long; of it only the marks of ours are kept. */
interface Complaint extends Omit<ArfReport, 'originalHeader'> {
  /** Local parts that look like tokens of ours. Whether they are is for the holder of the key to say. */
  tokens: string[]
}

export type Reading =
  | { kind: 'bounce'; verdicts: Verdict[] }
  | { kind: 'complaint' | 'opt-out'; report: Complaint }
  | { kind: 'nothing' }

/** What a mail comes to, small whatever its size: it is copied from one thread to another. */
export interface ReadReport {
  kind: 'report'
  /** As people see it, cut short. */
  subject: string
  /** What it says when it came to a return path. */
  toReturnPath: Reading
  /** What it says when it came to another address of ours: only complaints are sent there. */
  toOthers: Reading
}

const SUBJECT_CHARS_MAX = 200 // for the log

export const readAsReport = (mail: ParsedMail): ReadReport => ({
  kind: 'report',
  subject: displayText(mail.subject ?? '')
    .slice(0, SUBJECT_CHARS_MAX)
    .toWellFormed(),
  toReturnPath: readReport(mail),
  toOthers: readComplaint(mail) ?? { kind: 'nothing' },
})

/** A mail to a return path. A receiver that sends complaints there is as good as one that asks for an address. */
export function readReport(mail: ParsedMail): Reading {
  const complaint = isStatusReport(mail) ? null : readComplaint(mail)
  if (complaint) return complaint
  const verdicts = onceEach(readDsn(mail).map(verdictOf))
  return verdicts.length > 0 ? { kind: 'bounce', verdicts } : { kind: 'nothing' }
}

/** Neither is a complaint: a mail taken out of the spam folder, and a report on signatures (RFC 6591). */
const NO_COMPLAINTS = new Set(['not-spam', 'auth-failure', 'dmarc'])
/** RFC 5965 §7.3 and RFC 6430: the recipient wants no more of this mail, and does not call it abuse. */
const OPT_OUTS = new Set(['opt-out', 'opt-out-list'])

/** Null when the mail is no report of this kind at all. */
function readComplaint(mail: ParsedMail): Reading | null {
  const report = readArf(mail)
  if (!report) return null
  if (NO_COMPLAINTS.has(report.feedbackType)) return { kind: 'nothing' }
  const { originalHeader, ...rest } = report
  const texts = [report.originalMailFrom, report.returnPath, ...originalHeader.map(({ value }) => value)]
  return {
    kind: OPT_OUTS.has(report.feedbackType) ? 'opt-out' : 'complaint',
    report: { ...rest, tokens: tokensIn(texts) },
  }
}

const isStatusReport = (mail: ParsedMail): boolean =>
  mail.attachments.some(({ contentType }) => /^message\/(?:global-)?delivery-status$/.test(contentType))

function verdictOf(report: DsnReport): Verdict {
  const names = [report.originalRecipient, report.finalRecipient].flatMap(name =>
    name === null ? [] : [name.toLowerCase()],
  )
  return { names: [...new Set(names)], reply: report.reply, ...classifyDsn(report) }
}

/** Some servers repeat themselves; the first that is final counts. */
function onceEach(verdicts: readonly Verdict[]): Verdict[] {
  const byNames = new Map<string, Verdict>()
  for (const verdict of verdicts) {
    const key = verdict.names.join(' ')
    const known = byNames.get(key)
    if (!known || (known.class === 'transient' && verdict.class !== 'transient')) byNames.set(key, verdict)
  }
  return [...byNames.values()]
}
