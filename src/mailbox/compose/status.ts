// What became of a mail that was sent, in one word.

/** At acceptance: every recipient may be held by a pause, or suppressed. */
export const statusOf = ({ queued, held }: { queued: number; held: number }): 'queued' | 'held' | 'suppressed' =>
  queued > 0 ? 'queued' : held > 0 ? 'held' : 'suppressed'

/** Recipients by the state of their deliveries; `open` ones are queued, deferred, in flight or held. */
export type DeliveryCounts = Readonly<Record<string, number>>

/** The worst end counts, once all have ended: a mail that one of three recipients never got is not delivered. */
const ENDS = ['complained', 'bounced', 'blocked', 'expired', 'delivered', 'cancelled', 'suppressed'] as const

export function statusAfter(counts: DeliveryCounts): string {
  const { open = 0, held = 0, delivered = 0, complained = 0 } = counts
  if (open > 0) return delivered + complained > 0 ? 'sent' : held === open ? 'held' : 'queued'
  return ENDS.find(end => (counts[end] ?? 0) > 0) ?? 'queued'
}
