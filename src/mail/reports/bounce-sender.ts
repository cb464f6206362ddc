// Whether a mail without a part for machines is a bounce at all, an answer of a mailbox (a holiday note), or neither. The
// lists are data: a mail system that signs differently is one more word here.

import { anyOf } from './any-of.ts'
import { AUTOMATIC_ANSWER_ABROAD, NOT_DELIVERED_ABROAD } from './bounce-languages.ts'
import { classifyReply, isPlain } from './bounce-classes.ts'
import { valueOf } from '../mime/headers.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'

/** Who writes bounces: mail systems and their postmasters. */
const DAEMON = anyOf(
  /^(?:mailer[-_.]?daemon|post[-_.]?master|mdaemon|noreply-?bounce|bounces?|mmdf|smtp|daemon)(?:@|$)/,
  /^(?:mail[-_.]?(?:daemon|delivery[\w.-]*|system|admin)|microsoftexchange\w*|system[-_.]?administrator)(?:@|$)/,
)
const DAEMON_NAME = anyOf(
  /mail(?:er)?[- ]?daemon|(?:e-?)?mail (?:delivery|system|administrator)|postmaster|system administrator/,
)

const BOUNCE_SUBJECT = anyOf(
  /undeliver|non-?deliver|not delivered|(?:can ?not|could ?n[o']t|unable to) (?:be )?deliver/,
  /deliver\w{0,10} (?:status|failure|failed|has failed|error|problem|incomplete|report|notification)/,
  /failure notice|failed mail|mail failed|returned (?:mail|to sender)|return(?:ing)? (?:mail|message) to sender/,
  /mail (?:delivery|failure|error|system error)|message (?:delivery|undeliver)|error (?:sending|delivering)/,
  /delayed mail|message \S{0,40} ?delayed|zustellung/,
  ...NOT_DELIVERED_ABROAD,
)

const SUCCESS_SUBJECT = /^(?:successful (?:mail )?deliver|relayed: |delivered: )|\(success\)|\(relayed?\)/i

const NOT_DONE = String.raw`(?:could ?n[o']t|can ?not|can'?t|was ?n[o']t|were not|unable to|not able to|failed to)`
/** What only a mail system says of a message. It must be plain, since it stands for the missing signature. */
const BOUNCE_SENTENCE = anyOf(
  `${NOT_DONE} (?:be )?deliver`,
  /ha(?:s|ve) not been deliver|did not reach the following|(?:undeliverable|returned) (?:mail|message|to|address)/,
  /delivery (?:to the following|has failed|failed|error)|error (?:while |occurred )?[^.\n]{0,40}deliver/,
  /(?:message|mail) (?:has been|was|is) (?:returned|undeliverable)|permanent (?:fatal )?error/,
  /unknown user: \S+@|mailbox exceeds|requested action not taken|delivery of the (?:e-?mail|message) was stopped/,
  ...NOT_DELIVERED_ABROAD,
)

const ANSWER_SUBJECT = anyOf(
  /^(?:re: )?auto(?:matic|mated)?[- ]?(?:reply|response|respons|answer|antwort)/,
  /^(?:re: )?(?:out of (?:the )?office|away|vacation|on (?:holiday|leave|vacation))/,
  `^(?:re: )?${AUTOMATIC_ANSWER_ABROAD}`,
)

export function isBounceNotice(mail: ParsedMail, notice: string): boolean {
  // Exim's, which says of itself that it was automatically replied.
  if (valueOf(mail.headers, 'x-failed-recipients') !== null) return true
  if (isAnswerOfMailbox(mail, notice) || SUCCESS_SUBJECT.test(mail.subject ?? '')) return false
  if (isFromDaemon(mail)) return saysSo(mail, notice) || hasServerAnswer(notice)
  // Anybody can write these words, or hand on a bounce. A bounce comes from the null sender (RFC 5321 §4.5.5).
  const subject = mail.subject ?? ''
  if (valueOf(mail.headers, 'return-path') !== '<>' || /^(?:re|fwd?|aw|wg):/i.test(subject)) return false
  // Requests to confirm that one is no machine say that nothing was delivered, too; a bounce says why.
  return BOUNCE_SUBJECT.test(subject) || (BOUNCE_SENTENCE.test(notice) && saysWhy(notice) && !CHALLENGE.test(notice))
}

const CHALLENGE = anyOf(
  /\bclick (?:on|here|the|this|below)\b|human being|cliquez|klicken sie|haga clic|clique (?:aqui|no)\b/,
)

const saysSo = (mail: ParsedMail, notice: string): boolean =>
  BOUNCE_SUBJECT.test(mail.subject ?? '') || BOUNCE_SENTENCE.test(notice)

/**
 * RFC 3834 §5: an answer from a person's mailbox, such as a holiday notice, is no verdict on the delivery. Mail systems mark
 * their bounces in the same way, so what a daemon writes about a failure is one all the same.
 */
function isAnswerOfMailbox(mail: ParsedMail, notice: string): boolean {
  if (ANSWER_SUBJECT.test(mail.subject ?? '')) return true
  const isMarked =
    /^auto-replied/i.test(valueOf(mail.headers, 'auto-submitted') ?? '') ||
    /^auto[-_]reply/i.test(valueOf(mail.headers, 'precedence') ?? '') ||
    ['x-autoreply', 'x-autorespond', 'x-vacation'].some(name => valueOf(mail.headers, name) !== null)
  return isMarked && !(isFromDaemon(mail) && saysSo(mail, notice))
}

function isFromDaemon(mail: ParsedMail): boolean {
  const { address = '', name = '' } = mail.from[0] ?? {}
  const raw = valueOf(mail.headers, 'from') ?? ''
  // `From: <>` and `From: MAILER-DAEMON <>` hold no address that a parser would give.
  return DAEMON.test(address) || DAEMON_NAME.test(name) || /^(?:[\w" -]{0,40})?<>$/.test(raw) || DAEMON.test(raw.trim())
}

const saysWhy = (notice: string): boolean =>
  hasServerAnswer(notice) || isPlain(classifyReply({ code: 500, enhanced: null, text: notice }).rule)

const hasServerAnswer = (notice: string): boolean => /(?:^|[\s:'"(])[45]\d\d[ :-]+#?[45]\.\d{1,3}\.\d{1,3}/.test(notice)
