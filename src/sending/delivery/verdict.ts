// From the outcome of an attempt to what becomes of the delivery. Pure: classification by rules, retry or not and when, and the
// data that the event carries.
import { classifyReply, type BounceClass } from '../../mail/reports/bounce-classes.ts'
import type { SmtpReply } from '../../mail/reports/smtp-reply.ts'
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'
import type { Outcome, Phase } from '../../smtp/client/outcome.ts'
import type { Claimed, Verdict } from '../queue/attempts.ts'
import type { Cancelled } from '../relay/relays.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const RETRY_DELAYS_MS = [1, 2, 5, 10, 20, 40]
  .map(minutes => minutes * MINUTE_MS)
  .concat([1, 2, 4].map(hours => hours * HOUR_MS))

/** After this long without success a delivery is expired. */
const EXPIRY_MS = 72 * HOUR_MS

export const isTooOld = (acceptedAt: Date, now: Date): boolean => now.getTime() - acceptedAt.getTime() >= EXPIRY_MS

interface Attempted {
  /** 1 is the first. */
  attempt: number
  acceptedAt: Date
  recipient: string
}

export const attemptedOn = ({ attempts, accepted_at, recipient }: Claimed): Attempted => ({
  attempt: attempts,
  acceptedAt: accepted_at,
  recipient,
})

/** Responses are kept for people; a hostile server's megabytes are not. Half a character would not be stored. */
const RESPONSE_CHARS_MAX = 500

export const clip = (text: string): string => text.slice(0, RESPONSE_CHARS_MAX).toWellFormed()

export function verdictOf(outcome: Outcome | Cancelled, attempted: Attempted, now: Date): Verdict {
  const { attempt, acceptedAt, recipient } = attempted
  if (outcome.kind === 'cancelled') return cancelled(outcome.reason)
  const reply = replyOf(outcome)
  const facts = {
    dueAt: null,
    smtpCode: reply.code || null,
    enhancedCode: reply.enhanced,
    response: clip(reply.text) || null,
    mxHost: outcome.host,
    bounceType: null,
  }
  if (outcome.kind === 'delivered') return { ...facts, status: 'delivered', data: { attempt, tls: outcome.tls } }
  const { class: bounceClass, rule } = classOf(outcome, reply, recipient)
  const data = { attempt, phase: outcome.phase, rule }
  const deferred = (dueAt: Date): Verdict =>
    isTooOld(acceptedAt, now)
      ? { ...facts, status: 'expired', data }
      : { ...facts, status: 'deferred', dueAt, data: { ...data, next_attempt_at: dueAt.toISOString() } }
  switch (bounceClass) {
    case 'hard':
    case 'soft':
      return { ...facts, status: 'bounced', bounceType: bounceClass, data }
    case 'block':
      return { ...facts, status: 'blocked', data }
    case 'transient':
      // The last delay is repeated until it expires.
      return deferred(new Date(now.getTime() + repeatedDelayMs(RETRY_DELAYS_MS, attempt)))
    case 'alone':
      return deferred(now)
  }
}

/** The reason is ours and no server's. */
const cancelled = (reason: string): Verdict => ({
  status: 'cancelled',
  dueAt: null,
  smtpCode: null,
  enhancedCode: null,
  response: reason,
  mxHost: null,
  bounceType: null,
  data: { reason },
})

function classOf(
  outcome: Exclude<Outcome, { kind: 'delivered' }>,
  reply: SmtpReply,
  recipient: string,
): { class: BounceClass | 'alone'; rule: string } {
  if (outcome.kind === 'refused') {
    const found = classifyReply(reply, [recipient])
    // Said before any recipient was named: it is about us, and nobody is to be suppressed for it.
    const isSaidOfMailboxes = found.class === 'hard' || found.rule === 'refused-without-reason'
    const isAboutUs = isSaidOfMailboxes && BEFORE_RECIPIENTS.has(outcome.phase)
    if (isAboutUs) return { class: 'block', rule: `refused-${outcome.phase}` }
    // The server took each recipient and then refused one of them without saying whom: the others are not to suffer for it.
    const isAboutOne = isSaidOfMailboxes || found.rule.startsWith('mailbox')
    return isAboutOne && outcome.ofSeveral ? { class: 'alone', rule: 'refused-of-several' } : found
  }
  if (!outcome.isPermanent) return { class: 'transient', rule: `fault-${outcome.phase}` }
  return { class: 'hard', rule: `fault-${outcome.phase}` }
}

const BEFORE_RECIPIENTS: ReadonlySet<Phase> = new Set(['connect', 'greeting', 'hello', 'tls', 'auth', 'mail'])

/** A fault is no reply, but people look for its reason in the same place. */
function replyOf(outcome: Outcome): SmtpReply {
  if (outcome.kind !== 'fault') return outcome.reply
  return { code: 0, enhanced: outcome.code ?? null, text: outcome.reason }
}

export const BODY_GONE: Outcome = {
  kind: 'fault',
  phase: 'content',
  reason: 'The body of the message is no longer stored.',
  host: null,
  isPermanent: true,
}

/** Not permanent: the age alone decides. */
export const NOT_ATTEMPTED: Outcome = {
  kind: 'fault',
  phase: 'connect',
  reason: 'No attempt could be made before the message expired.',
  host: null,
  isPermanent: false,
}
