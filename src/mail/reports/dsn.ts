// Reads delivery status notifications (RFC 3464), and the bounces in plain text that some servers still send instead.
// Everything here comes from strangers: what is missing is null, what is nonsense is no report.

import { type BounceClass, classifyReply, isPlain, isVague } from './bounce-classes.ts'
import { BLOCK_LIST, THEIR_FAULT, UNWANTED } from './bounce-words.ts'
import { type Notice, readNotice, readTextBounce } from './dsn-text.ts'
import { type HeaderField, readFields, valueOf } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'
import { reportedAddress, textsOfParts } from './report-parts.ts'
import { parseReply, type SmtpReply } from './smtp-reply.ts'

type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** What became of one recipient. */
export type DsnReport = {
  action: DsnAction
  /** The enhanced code, such as `5.1.1`. */
  status: string | null
  /** Null when the report does not say, or says it in a form that is no address. The return path still tells. */
  finalRecipient: string | null
  originalRecipient: string | null
  /** As reported, without its type. */
  diagnosticCode: string | null
  remoteMta: string | null
  /** The answer of the remote server in the form that `classifyReply` takes. */
  reply: SmtpReply
  /** What the report tells people about it; looked at where the answer says no more than that it failed. */
  words: string
}

// Our return paths carry one recipient each. A report about more is from a list, or from someone who is trying.
const REPORTS_MAX = 100

/** The reports in a message, empty when it is none. */
export function readDsn(mail: ParsedMail): DsnReport[] {
  const parts = textsOfParts(mail, ['message/delivery-status', 'message/global-delivery-status'])
  const groups = parts.flatMap(recipientGroups).slice(0, REPORTS_MAX)
  const notice = readNotice(mail)
  return (groups.length > 0 ? groups : readTextBounce(mail, notice)).map(group => readRecipient(group, notice))
}

/**
 * What a report means for the delivery. Where the answer is vague, the words around it decide if they are plain. A server
 * that gave up after temporary answers has failed for good: it is judged by what those answers said, and soft when they
 * said only that it was not the time, since the address may be fine.
 */
export function classifyDsn(report: DsnReport): { class: BounceClass; rule: string } {
  const { action, reply, words } = report
  if (action !== 'failed') return { class: 'transient', rule: 'not-failed' }
  if (reply.code < 500) return classifyGivenUp(report)
  const verdict = classifyReply(reply, recipientsOf(report))
  if (!isVague(verdict.rule)) return verdict.class === 'transient' ? GAVE_UP : verdict
  return plainWords(words, verdict.class) ?? verdict
}

const GAVE_UP = { class: 'soft', rule: 'gave-up' } as const

/** Where forwarding led, the answer names the last address. */
const recipientsOf = ({ finalRecipient, originalRecipient }: DsnReport): string[] =>
  [finalRecipient, originalRecipient].filter(address => address !== null)

function classifyGivenUp(report: DsnReport): { class: BounceClass; rule: string } {
  const { reply, words } = report
  const verdict = classifyReply(asPermanent(reply), recipientsOf(report))
  const isMeant = verdict.rule === 'no-such-user-text' && !THEIR_FAULT.test(reply.text)
  if (verdict.class === 'hard' ? isMeant : isPlain(verdict.rule)) return verdict
  return plainWords(words, 'block') ?? GAVE_UP
}

/**
 * What the words of a notice say, if they mean one thing. Notices also list what might have been the reason: nobody is
 * suppressed by words that could be such a list, or against an answer that refuses us.
 */
function plainWords(words: string, instead: BounceClass): { class: BounceClass; rule: string } | null {
  const verdict = classifyReply({ code: 500, enhanced: null, text: words })
  if (!isPlain(verdict.rule)) return null
  const isDoubtful = instead === 'block' || BLOCK_LIST.test(words) || UNWANTED.test(words)
  return verdict.class === 'hard' && isDoubtful ? null : verdict
}

const asPermanent = ({ code, enhanced, text }: SmtpReply): SmtpReply => ({
  code: code + 100,
  enhanced: enhanced && enhanced.replace(/^4/, '5'),
  text,
})

/**
 * The fields about one recipient each (RFC 3464 §2.3). They should come in blocks of their own after a block about the
 * message; some servers forget the blank line, so a field that was already seen opens the next recipient.
 */
function recipientGroups(text: string): HeaderField[][] {
  const groups: HeaderField[][] = []
  for (const block of text.split(/\n[ \t]*\n/)) {
    let group: HeaderField[] = []
    groups.push(group)
    for (const field of readFields(block)) {
      if (field.lowerName === 'final-recipient' && valueOf(group, 'final-recipient') !== null) {
        group = []
        groups.push(group)
      }
      group.push(field)
    }
  }
  return groups.filter(group => valueOf(group, 'action') !== null || valueOf(group, 'status') !== null)
}

function readRecipient(fields: HeaderField[], notice: Notice): DsnReport {
  const status = /[245]\.\d{1,3}\.\d{1,3}/.exec(valueOf(fields, 'status') ?? '')?.[0] ?? null
  const originalRecipient = valueOf(fields, 'original-recipient')
  const action = readAction(valueOf(fields, 'action'), status)
  const finalRecipient = reportedAddress(valueOf(fields, 'final-recipient') ?? valueOf(fields, 'x-actual-recipient'))
  const reported = valueOf(fields, 'diagnostic-code')?.replace(/^[\w-]{1,20}\s*;\s*/, '') || null
  const { answer, words } = action === 'failed' ? notice.about(finalRecipient) : { answer: '', words: '' }
  // Some servers fill in the fields and tell the reason to people only.
  const diagnosticCode = (/[a-z]{3}/i.test(reported ?? '') ? null : answer) || reported
  return {
    action,
    status,
    finalRecipient,
    originalRecipient: reportedAddress(originalRecipient && decodeXtext(originalRecipient)),
    diagnosticCode,
    remoteMta: valueOf(fields, 'remote-mta')?.replace(/^[\w-]{1,20}\s*;\s*/, '') || null,
    reply: replyOf(action, status, diagnosticCode),
    words,
  }
}

const ACTIONS: readonly DsnAction[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded']

function readAction(value: string | null, status: string | null): DsnAction {
  const word = value
    ?.trim()
    .toLowerCase()
    .split(/[\s(;]/)[0]
  const action = ACTIONS.find(known => known === word)
  if (action) return action
  // Not of RFC 3464, but used: the sender has given up.
  if (word === 'expired' || word === 'failure' || word === 'error') return 'failed'
  // Without a word we know, the status decides; without that, nothing proves that the delivery is over.
  if (status?.startsWith('5')) return 'failed'
  return status?.startsWith('2') ? 'delivered' : 'delayed'
}

/** RFC 3461 §4: `+2B` stands for a plus sign. */
const decodeXtext = (text: string): string =>
  text.replaceAll(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** The remote answer, its gaps filled from the status: some servers report only that. */
function replyOf(action: DsnAction, status: string | null, diagnosticCode: string | null): SmtpReply {
  // A reply of several lines was folded into one field; its codes show where the lines began.
  const text = (diagnosticCode ?? '').replaceAll(/\s+/g, ' ')
  const reply = parseReply(text.replaceAll(/ (?=[45]\d\d[ -][45]\.\d)/g, '\n'))
  const enhanced = telling(reply.enhanced) ?? nestedStatus(text) ?? telling(status) ?? reply.enhanced ?? status
  return { code: reply.code || codeFor(action, enhanced), enhanced, text: reply.text }
}

/** `5.0.x` says no more than that it failed. */
const telling = (enhanced: string | null): string | null => (enhanced && !/^.\.0\./.test(enhanced) ? enhanced : null)

/** Of the answer that an answer quotes: `554 5.0.0 … said: 550 5.1.1 …`. */
const nestedStatus = (text: string): string | null =>
  /[^\w.][45]\d\d[ -]([45]\.[1-7]\.\d{1,3})(?![\d.])/.exec(text)?.[1] ?? null

/** A basic code where none was reported. 500 and 400 say no more than that it failed, for good or for now. */
function codeFor(action: DsnAction, enhanced: string | null): number {
  if (enhanced?.startsWith('5') || (!enhanced && action === 'failed')) return 500
  return enhanced?.startsWith('4') || action === 'delayed' ? 400 : 250
}
