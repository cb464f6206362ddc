// What a new mail, a reply or a forward says and to whom, before it becomes a submission. A generator, as quoting is one.
import { parseAddress, type Address } from '../../mail/address/address.ts'
import { mailboxText } from '../../mail/address/mailbox-text.ts'
import { subjectMark } from '../../mail/text/subject-marks.ts'
import { refuse } from '../../platform/refusal.ts'
import { SUBJECT_BYTES_MAX } from '../../sending/messages/limits.ts'
import { isOwnAddress } from '../inboxes/addresses.ts'
import { OWN_ANSWERED_MAX } from '../messages/kept-addresses.ts'
import type { ComposeRequest } from './compose-schema.ts'
import type { ContinuedThread } from './mail.ts'
import type { Original, OriginalTexts } from './original.ts'
import { forwardedBody, quotedBody } from './quote.ts'

export type Kind = 'new' | 'reply' | 'forward'

export interface Written {
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  subject: string
  text: string | null
  html: string | null
  /** Of the text: what the caller wrote; the rest is quoted. */
  ownText: string
  headers: Record<string, string>
}

interface Writing {
  kind: Kind
  body: ComposeRequest
  /** In lower case: that of the inbox, and of the mailbox elsewhere that it mirrors. */
  ownAddresses: readonly string[]
  original: Original | null
  /** Of a reply whose original was deleted. */
  thread?: ContinuedThread | null
  texts: OriginalTexts | null
}

export function* write({ kind, body, ownAddresses, original, thread, texts }: Writing): Generator<void, Written> {
  const { text = null, html = null } = body
  const given = { cc: body.cc ?? [], bcc: body.bcc ?? [], ownText: text ?? '' }
  if (kind === 'new' || !original) {
    // The subject of a tainted thread may be one that the shield keeps from agents.
    const subject = body.subject ?? (thread && !thread.isTainted ? marked(thread.subject, 'reply') : '')
    return { ...given, to: body.to ?? [], subject, text, html, headers: {} }
  }
  const headers = referringTo(original, kind)
  if (kind === 'forward') {
    const subject = body.subject ?? marked(original.subject, 'forward')
    return { ...given, to: body.to ?? [], subject, ...(yield* forwardedBody(original, texts, { text, html })), headers }
  }
  const subject = body.subject ?? marked(original.subject, 'reply')
  const said = text === null && html === null ? yield* quotedBody(original, texts) : { text, html }
  return { ...given, ...repliedTo(original, body, ownAddresses), subject, ...said, headers }
}

/**
 * An agent reads what was sent: a quotation would show it the text that the shield keeps from it. So a reply to blocked mail
 * says what the caller writes and nothing else, and a forward is none without the original.
 */
export function checkBlocked({ isBlocked }: Original, kind: Kind, { text, html }: ComposeRequest): void {
  if (!isBlocked) return
  if (kind === 'forward') throw refuse('forbidden', 'The shield has blocked this message: it cannot be forwarded.')
  if (text === undefined && html === undefined) {
    throw refuse('invalid_message', 'The shield has blocked the original: it is not quoted. Write a text or html.')
  }
}

/**
 * The caller's own recipients stand instead of, or beside, those that follow from the original; each address in one field. An
 * empty list names nobody, as in a draft that was saved without recipients: the reply goes to the author.
 */
function repliedTo(original: Original, body: ComposeRequest, ownAddresses: readonly string[]) {
  const isOwn = ({ address }: Address): boolean => isOwnAddress(address.toLowerCase(), ownAddresses)
  const given = body.to?.length ? body.to : null
  const seen = new Set((given ?? []).map(keyOf))
  const fresh = (addresses: readonly Address[]): string[] =>
    addresses
      .filter(each => !isOwn(each) && !seen.has(each.address.toLowerCase()) && seen.add(each.address.toLowerCase()))
      .map(mailboxText)
  const to = given ?? fresh(answeredIn(original, isOwn))
  const cc = (body.cc ?? []).filter(each => !seen.has(keyOf(each)))
  for (const each of cc) seen.add(keyOf(each))
  const copied = body.reply_all ? fresh([...original.to, ...original.cc]) : []
  const answeredCount = given ? 0 : to.length
  if (original.isOut) {
    // Whom our own mail went to was our choice, but not all of a long list are kept with it.
    const { toCount, ccCount } = original
    const copiedCount = body.reply_all ? Math.max(toCount, ccCount) : 0
    if (Math.max(given ? 0 : toCount, copiedCount) > OWN_ANSWERED_MAX) throw tooManyToAnswer([OWN_ANSWERED_MAX])
  } else if (answeredCount > ANSWERED_MAX || answeredCount + copied.length > ALL_ANSWERED_MAX) {
    throw tooManyToAnswer([ANSWERED_MAX, `or ${ALL_ANSWERED_MAX} with reply_all`])
  }
  if (to.length + copied.length + cc.length + (body.bcc?.length ?? 0) === 0) {
    throw refuse('invalid_message', 'The original names nobody to reply to. Say whom to write to in the field to.')
  }
  return { to, cc: [...cc, ...copied] }
}

/** Where all answers are asked for by ourselves, as by a mailing list of ours, the author is whom they are for. */
function answeredIn({ isOut, to, replyTo, from }: Original, isOwn: (address: Address) => boolean): readonly Address[] {
  if (isOut) return to
  return replyTo.every(isOwn) ? from : replyTo
}

/** What is no address is compared as it stands, and refused later. */
const keyOf = (text: string): string => (parseAddress(text)?.address ?? text).toLowerCase()

/** Reply-To, To and Cc are a stranger's choice: one mail must not make us write to all whom it names. */
const ANSWERED_MAX = 20
const ALL_ANSWERED_MAX = 100

const tooManyToAnswer = (most: readonly unknown[]) =>
  refuse(
    'too_many_recipients',
    `The original names more people than a reply goes to by itself (${most.join(', ')}). ` +
      'Name the recipients in the fields to and cc, without reply_all.',
  )

const PREFIXES = { reply: 'Re: ', forward: 'Fwd: ' }

/** One that is marked already, in whatever language, gets no second mark. */
function marked(subject: string, kind: 'reply' | 'forward'): string {
  const plain = subject.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  let text = subjectMark(plain)?.kind === kind ? plain : PREFIXES[kind] + plain
  while (Buffer.byteLength(text) > SUBJECT_BYTES_MAX) text = Array.from(text).slice(0, -50).join('')
  return text.trim()
}

/** One line of a header, RFC 5322 §2.1.1. */
const REFERENCES_BYTES_MAX = 998
const MESSAGE_ID = /^<[!-;=?A-~]+@[!-;=?A-~]+>$/

/** The first message of the thread and as many of the nearest ones as fit; ids of no good form are left out. */
function referringTo({ rfcId, references }: Original, kind: Kind): Record<string, string> {
  const isGood = (id: string): boolean => id.length <= 400 && MESSAGE_ID.test(id)
  const chain = [...new Set([...references, ...(rfcId === null ? [] : [rfcId])])].filter(isGood)
  if (chain.length === 0) return {}
  const [first, ...others] = chain
  const kept: string[] = []
  let bytes = first!.length
  for (const id of others.toReversed()) {
    bytes += id.length + 1
    if (bytes > REFERENCES_BYTES_MAX) break
    kept.unshift(id)
  }
  const headers: Record<string, string> = { References: [first!, ...kept].join(' ') }
  // A forward is no answer.
  if (kind === 'reply' && rfcId !== null && isGood(rfcId)) headers['In-Reply-To'] = rfcId
  return headers
}
