// What the results of a transaction say beyond each recipient's own.
import type { Envelope, SendResult } from './outcome.ts'

/** Nothing was said about the message or its recipients. */
export const isTurnedAway = (result: SendResult): boolean =>
  (result.kind === 'fault' && !result.isPermanent && result.phase !== 'content') ||
  (result.kind === 'refused' && result.reply.code === 421 && result.phase !== 'content')

export const isTooMany = (result: SendResult): boolean =>
  result.kind === 'refused' &&
  result.phase === 'rcpt' &&
  (/^[45]\.5\.3$/.test(result.reply.enhanced ?? '') || TOO_MANY.test(result.reply.text))

const TOO_MANY = /too many recipients/i

export const toAll = <R extends SendResult>({ recipients }: Envelope, result: R): R[] => recipients.map(() => result)

/** What every receiver must take (RFC 5321 §4.5.3.1.8); more than that goes in several transactions. */
const RECIPIENTS_PER_TRANSACTION_MAX = 100

/** One after the other. Where a part cannot be begun, what is known of those before it stays known. */
export async function inParts(envelope: Envelope, deliver: (part: Envelope) => Promise<SendResult[]>) {
  if (envelope.recipients.length <= RECIPIENTS_PER_TRANSACTION_MAX) return deliver(envelope)
  const results: SendResult[] = []
  for (let start = 0; start < envelope.recipients.length; start += RECIPIENTS_PER_TRANSACTION_MAX) {
    const recipients = envelope.recipients.slice(start, start + RECIPIENTS_PER_TRANSACTION_MAX)
    try {
      for (const result of await deliver({ ...envelope, recipients })) results.push(result)
    } catch (error) {
      if (start === 0) throw error
      break
    }
  }
  while (results.length < envelope.recipients.length) results.push({ kind: 'withheld' })
  return results
}
