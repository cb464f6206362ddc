// Who shares an SMTP transaction. Each recipient has one of its own, so that its return path is its own and nobody can
// report on another. Only many recipients at one destination share.
import { randomInt } from 'node:crypto'
import type { PauseFacts } from '../../control/suspensions/scopes.ts'
import type { Claimed } from '../queue/attempts.ts'
import type { MessageToSend } from './queries.ts'

/** From here on a transaction for each would cost the receiver more than their return paths are worth. */
const ALONE_MAX = 20
/** What every receiver must take in one transaction (RFC 5321 §4.5.3.1.8). */
const TOGETHER_MAX = 100
/** Fits a column of 32 bits with a sign, and the return path. */
const ENVELOPE_MAX = 2 ** 31

/** Recipients of one message that may share a transaction: at one destination, or through one provider. */
export const groupOf = ({ message_id, recipient, recipient_domain, relay_inbox_id }: Claimed): string =>
  `${message_id} ${relay_inbox_id === null ? recipient_domain : ''} ${needsSmtputf8(recipient) ? 'utf8' : ''}`

/** Not every receiver takes such an address (RFC 6531): it must not take the others down with it. */
export const needsSmtputf8 = (recipient: string): boolean => /[^ -~]/.test(recipient)

/** The recipients of one message at one destination, divided into transactions. */
export function transactionsOf(message: MessageToSend, deliveries: readonly Claimed[]): Claimed[][] {
  const alone = deliveries.filter(isToGoAlone).map(delivery => [delivery])
  const rest = deliveries.filter(delivery => !isToGoAlone(delivery))
  return rest.length === 0 ? alone : [...alone, ...shared(message, rest)]
}

/** Refused for good and in the queue all the same: it was said of several that shared a transaction, and meant one. */
const isToGoAlone = ({ smtp_code }: Claimed): boolean => smtp_code !== null && smtp_code >= 500

function shared(message: MessageToSend, deliveries: readonly Claimed[]): Claimed[][] {
  // Their return path is the sender's mailbox, and what it gets back is filed there.
  if (message.relay_inbox_id !== null) return [[...deliveries]]
  // Each recipient has a source of its own where it holds a personal link.
  if (message.has_unsubscribe || deliveries.length <= ALONE_MAX) return deliveries.map(delivery => [delivery])
  const count = Math.ceil(deliveries.length / TOGETHER_MAX)
  const size = Math.ceil(deliveries.length / count)
  return Array.from({ length: count }, (_, at) => {
    const envelope = randomInt(ENVELOPE_MAX)
    return deliveries.slice(at * size, (at + 1) * size).map(delivery => ({ ...delivery, envelope }))
  })
}

/** What pauses may ask about a transaction, for each domain in it. */
export const factsOf = (message: MessageToSend, deliveries: readonly Claimed[]): PauseFacts[] =>
  [...new Set(deliveries.map(({ recipient_domain }) => recipient_domain))].map(recipientDomain => ({
    tenantId: message.tenant_id,
    senderDomain: message.sender_domain,
    sender: message.sender,
    credentialId: message.credential_id,
    apiKeyId: message.api_key_id,
    tags: message.tags,
    recipientDomain,
  }))
