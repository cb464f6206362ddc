// Who shares an SMTP transaction. Each recipient has one of its own, so that its return path is its own and nobody can report
// on another. Only a crowd at one destination shares.
import { randomInt } from 'node:crypto'
import type { Claimed } from '../queue/attempts.ts'
import type { MessageToSend } from './queries.ts'

/** From here on a transaction for each would cost the receiver more than their return paths are worth. */
const ALONE_MAX = 20
/** What every receiver must take in one transaction (RFC 5321 §4.5.3.1.8). */
const TOGETHER_MAX = 100
/** Fits a column of 32 bits with a sign, and the return path. */
const ENVELOPE_MAX = 2 ** 31

/** The recipients of one message at one destination, divided into transactions. */
export function transactionsOf(message: MessageToSend, deliveries: readonly Claimed[]): Claimed[][] {
  // Nothing of a sandbox goes out.
  if (message.is_sandbox) return [[...deliveries]]
  // Each recipient has a source of its own where it holds a personal link.
  if (message.has_unsubscribe || deliveries.length <= ALONE_MAX) return deliveries.map(delivery => [delivery])
  const count = Math.ceil(deliveries.length / TOGETHER_MAX)
  const size = Math.ceil(deliveries.length / count)
  return Array.from({ length: count }, (_, at) => {
    const envelope = randomInt(ENVELOPE_MAX)
    return deliveries.slice(at * size, (at + 1) * size).map(delivery => ({ ...delivery, envelope }))
  })
}
