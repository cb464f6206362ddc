// How attempts end, recipient by recipient.
import type { SendResult } from '../../smtp/client/outcome.ts'
import type { Claimed } from '../queue/attempts.ts'
import type { Cancelled } from '../relay/relays.ts'
import { simulate } from './simulator.ts'

/** How an attempt ended for one recipient. */
export interface End {
  outcome: SendResult | Cancelled
  complains: boolean
}

export const ended = (outcomes: readonly (SendResult | Cancelled)[]): End[] =>
  outcomes.map(outcome => ({ outcome, complains: false }))

export function simulated(deliveries: readonly Claimed[], mayBegin: boolean): End[] {
  if (mayBegin) return deliveries.map(({ recipient, attempts }) => simulate(recipient, attempts))
  return deliveries.map(() => ({ outcome: { kind: 'withheld' }, complains: false }))
}
