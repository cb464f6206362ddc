// How attempts end, recipient by recipient; and in the sandbox, where nothing leaves the machine and the recipient's local part
// chooses what happens.
import type { SmtpReply } from '../../mail/reports/smtp-reply.ts'
import type { Outcome, SendResult } from '../../smtp/client/outcome.ts'
import type { Claimed } from '../queue/attempts.ts'
import type { Cancelled } from '../relay/relays.ts'

/** How an attempt ended for one recipient. */
export interface End {
  outcome: SendResult | Cancelled
  /** The recipient complains right after delivery. */
  complains: boolean
}

export const ended = (outcomes: readonly (SendResult | Cancelled)[]): End[] =>
  outcomes.map(outcome => ({ outcome, complains: false }))

export function simulated(deliveries: readonly Claimed[], mayBegin: boolean): End[] {
  if (mayBegin) return deliveries.map(({ recipient, attempts }) => simulate(recipient, attempts))
  return deliveries.map(() => ({ outcome: { kind: 'withheld' }, complains: false }))
}

const HOST = 'sandbox'

const reply = (code: number, enhanced: string, text: string): SmtpReply => ({ code, enhanced, text })
const delivered: Outcome = {
  kind: 'delivered',
  reply: reply(250, '2.0.0', 'Accepted by the sandbox'),
  host: HOST,
  tls: true,
}
const refused = (code: number, enhanced: string, text: string): Outcome => ({
  kind: 'refused',
  phase: 'rcpt',
  host: HOST,
  reply: reply(code, enhanced, text),
})

function simulate(recipient: string, attempt: number): End {
  const local = recipient.toLowerCase()
  const only = (outcome: Outcome): End => ({ outcome, complains: false })
  if (local.startsWith('bounce')) return only(refused(550, '5.1.1', 'No such user (sandbox)'))
  if (local.startsWith('block')) return only(refused(550, '5.7.1', 'Blocked by policy (sandbox)'))
  if (local.startsWith('soft')) {
    return only(
      attempt === 1
        ? refused(451, '4.3.0', 'Try again later (sandbox)')
        : refused(552, '5.2.2', 'Mailbox full (sandbox)'),
    )
  }
  if (local.startsWith('defer') && attempt === 1) return only(refused(451, '4.7.1', 'Greylisted (sandbox)'))
  return { outcome: delivered, complains: local.startsWith('complain') }
}
