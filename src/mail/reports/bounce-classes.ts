// Decides what a refusal means: the address is bad (hard), the mailbox cannot take it now (soft), the receiver does not
// want it from us (block), or we should try again (transient). The rules are data; the first that fits decides.

import * as said from './bounce-words.ts'
import { namingOf } from './recipient-named.ts'
import { REPLY_CHARS_MAX, type SmtpReply } from './smtp-reply.ts'

export type BounceClass = 'hard' | 'soft' | 'block' | 'transient'

type BounceRule = {
  id: string
  when: {
    codes?: readonly number[]
    /** Matches the enhanced code without its first digit, `1.1` of `5.1.1`; empty when the reply has none. */
    enhanced?: RegExp
    /** Matches the text without the addresses in it, which may hold any word. */
    text?: RegExp
    /** The recipient's own address stands in it: as its first word, or anywhere. */
    names?: 'first' | 'anywhere'
  }
  class: BounceClass
  isVague?: true
}

/**
 * The class of a reply and the rule that gave it. Not a 5xx, whatever else it says, is worth another try. `recipients` are
 * the addresses of the one recipient whom it was given for, as far as they are known.
 */
export function classifyReply(
  reply: SmtpReply,
  recipients: readonly string[] = [],
): { class: BounceClass; rule: string } {
  if (reply.code < 500 || reply.code > 599) return { class: 'transient', rule: 'temporary' }
  const subjectAndDetail = reply.enhanced?.slice(2) ?? ''
  const text = reply.text.slice(0, REPLY_CHARS_MAX)
  const naming = namingOf(text, recipients)
  const words = text.replaceAll(ADDRESSES, ' ').replaceAll(/\s+/g, ' ')
  const rule = BOUNCE_RULES.find(
    ({ when }) =>
      (when.codes?.includes(reply.code) ?? true) &&
      (when.enhanced?.test(subjectAndDetail) ?? true) &&
      (when.text?.test(words) ?? true) &&
      (when.names === undefined || naming === 'first' || (when.names === 'anywhere' && naming !== null)),
  )
  return rule ? { class: rule.class, rule: rule.id } : { class: 'soft', rule: 'unknown-permanent' }
}

/** It follows from a code that is given for anything; other words may tell more. */
export const isVague = (rule: string): boolean => rulesById.get(rule)?.isVague ?? rule === 'unknown-permanent'

/** Somebody said it in words that mean one thing. */
export const isPlain = (rule: string): boolean => rulesById.get(rule)?.when.text !== undefined && !isVague(rule)

// Bounded, so that a hostile reply cannot make the search try every start against every end.
const ADDRESSES = /<[^<>\s]{0,99}@[^<>\s]{0,255}>|[^\s<>"'(),;:]{1,99}@[^\s<>"'(),;:]{1,255}/g

/**
 * The enhanced code decides first, then the basic code, then the text. Some receivers misuse codes, so where the words
 * are plain they come before the code that is known to be misused; each such rule names the code it corrects. Only words or
 * codes about the mailbox or its domain are hard: an address that is suppressed by mistake gets no more mail.
 */
export const BOUNCE_RULES: readonly BounceRule[] = [
  // These answer to a log-in or to its lack: `535 unknown user` is not about the recipient.
  { id: 'authentication', when: { codes: [530, 534, 535, 538] }, class: 'block' },
  // RFC 5321 §4.5.3.1.10: 552 for too many recipients is to be taken for 452.
  { id: 'too-many-recipients', when: { enhanced: /^5\.3$/ }, class: 'transient' },
  { id: 'too-many-recipients-text', when: { codes: [552], text: /too many recipients/i }, class: 'transient' },
  // 5.2.2, 5.2.3 and 5.3.4 are used by everybody as they were meant.
  { id: 'mailbox-full', when: { enhanced: /^2\.2$/ }, class: 'soft' },
  { id: 'message-too-large', when: { enhanced: /^(?:2\.3|3\.4)$/ }, class: 'soft' },
  // We sent too much, or to too many that are not there: said with 5.1.1 too, and never about this recipient.
  { id: 'sent-too-much', when: { text: said.SENT_TOO_MUCH }, class: 'block' },
  // 5.7.1 is the favourite code of old Exchange and Yandex for a mailbox that is not there.
  { id: 'sender-refused-by-policy', when: { enhanced: /^7\./, text: said.ABOUT_SENDER }, class: 'block' },
  { id: 'mailbox-blocked-as-policy', when: { enhanced: /^7\./, text: said.MAILBOX_BLOCKED }, class: 'soft' },
  { id: 'no-such-user-as-policy', when: { enhanced: /^7\./, text: said.NO_SUCH_USER }, class: 'hard' },
  { id: 'no-mail-as-policy', when: { enhanced: /^7\./, text: said.TAKES_NO_MAIL }, class: 'hard' },
  { id: 'mailbox-gone-as-policy', when: { enhanced: /^7\./, text: said.MAILBOX_GONE }, class: 'hard' },
  { id: 'policy', when: { enhanced: /^7\./ }, class: 'block' },
  // 5.1.7 and 5.1.8 are about the sender's address: the recipient may be fine.
  { id: 'sender-address', when: { enhanced: /^1\.[78]$/ }, class: 'block' },
  { id: 'sender-refused', when: { text: said.ABOUT_SENDER }, class: 'block' },
  { id: 'bad-header', when: { text: said.BAD_HEADER }, class: 'block' },
  { id: 'relay-denied', when: { text: said.RELAY_DENIED }, class: 'block' },
  { id: 'mailbox-full-text', when: { text: said.MAILBOX_FULL }, class: 'soft' },
  { id: 'mailbox-blocked-text', when: { text: said.MAILBOX_BLOCKED }, class: 'soft' },
  { id: 'no-such-user-text', when: { text: said.NO_SUCH_USER }, class: 'hard' },
  { id: 'no-such-user-at-microsoft', when: { enhanced: /^4\.1$/, text: said.RECIPIENT_DENIED }, class: 'hard' },
  { id: 'no-such-domain-text', when: { text: said.NO_SUCH_DOMAIN }, class: 'hard' },
  { id: 'no-mail-text', when: { text: said.TAKES_NO_MAIL }, class: 'hard' },
  { id: 'message-too-large-text', when: { text: said.TOO_LARGE }, class: 'soft' },
  // 550 5.1.1, 5.2.0 and 5.3.0 are also given for what a filter or a block list refused.
  { id: 'block-list', when: { text: said.BLOCK_LIST }, class: 'block' },
  { id: 'unwanted', when: { text: said.UNWANTED }, class: 'block' },
  // Gmail: a mailbox that is receiving too fast is neither gone nor full.
  { id: 'mailbox-busy', when: { enhanced: /^2\.1$/, text: said.MAILBOX_BUSY }, class: 'soft' },
  { id: 'mailbox-gone-text', when: { text: said.MAILBOX_GONE }, class: 'hard' },
  { id: 'their-fault-text', when: { text: said.THEIR_FAULT }, class: 'soft', isVague: true },
  // An address and that it is rejected, nothing else.
  { id: 'address-rejected', when: { text: said.REJECTED_ALONE, names: 'anywhere' }, class: 'hard' },

  { id: 'relayed-to-non-compliant', when: { enhanced: /^1\.9$/ }, class: 'soft' },
  { id: 'bad-address', when: { enhanced: /^1\./ }, class: 'hard' },
  { id: 'mailbox-disabled', when: { enhanced: /^2\.1$/ }, class: 'hard' },
  // 5.2.0 to 5.5.0 say no more than where it was noticed.
  {
    id: 'message-refused',
    when: { enhanced: /^[2-5]\.0$/, text: said.MESSAGE_REFUSED },
    class: 'block',
    isVague: true,
  },
  { id: 'mailbox', when: { enhanced: /^2\./ }, class: 'soft', isVague: true },
  { id: 'mail-system', when: { enhanced: /^3\.[1-9]/ }, class: 'soft', isVague: true },
  // 5.4.4: no route, so no MX. 5.4.310 is Microsoft's for a domain that does not exist.
  { id: 'no-route', when: { enhanced: /^4\.(?:4|310)$/ }, class: 'hard' },
  { id: 'network', when: { enhanced: /^4\.[1-9]/ }, class: 'soft', isVague: true },
  { id: 'protocol', when: { enhanced: /^5\.[1-9]/ }, class: 'soft', isVague: true },
  { id: 'unicode-not-supported', when: { enhanced: /^6\.(?:7|8|9|10)$/ }, class: 'soft' },
  { id: 'content', when: { enhanced: /^6\./ }, class: 'block' },

  { id: 'storage', when: { codes: [552, 523] }, class: 'soft', isVague: true },
  { id: 'not-local', when: { codes: [551] }, class: 'hard' },
  // RFC 7504: 556 speaks of the domain. 521 speaks of the host, and many say it to senders that they do not want.
  { id: 'domain-takes-no-mail', when: { codes: [556] }, class: 'hard' },
  { id: 'host-takes-no-mail', when: { codes: [521] }, class: 'block', isVague: true },
  { id: 'rejected-by-recipient', when: { codes: [541, 571] }, class: 'block' },
  { id: 'mailbox-unavailable', when: { text: said.MAILBOX_UNAVAILABLE }, class: 'hard' },
  { id: 'refused', when: { text: said.REFUSED }, class: 'block', isVague: true },
  // Also what a late report gives that says no more than that it failed.
  { id: 'command', when: { codes: [500, 501, 502, 503, 504, 555] }, class: 'soft', isVague: true },
  // RFC 5321 §4.2.3: 550 mailbox unavailable, 553 mailbox name not allowed. So it is where nothing else is said, or where
  // it is said of the recipient; words that nobody understands suppress nobody.
  { id: 'to-the-sender', when: { codes: [550, 553], text: said.TO_THE_SENDER }, class: 'block', isVague: true },
  { id: 'mailbox-refused', when: { codes: [550, 553], text: said.NOTHING_ELSE }, class: 'hard', isVague: true },
  { id: 'other-reason', when: { codes: [550, 553], text: said.OTHER_REASON }, class: 'soft', isVague: true },
  { id: 'address-refused', when: { codes: [550, 553], names: 'first' }, class: 'hard', isVague: true },
  { id: 'refused-without-reason', when: { codes: [550, 553] }, class: 'soft', isVague: true },
  { id: 'transaction-failed', when: { codes: [554] }, class: 'block', isVague: true },
]

const rulesById = new Map(BOUNCE_RULES.map(rule => [rule.id, rule]))
