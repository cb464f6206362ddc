// Mail to inboxes of this installation goes to them without a network hop. Delivery knows them by what the mailbox half
// lends it; recipients without an inbox go the way that mail to any other domain goes.
import type { Envelope, Outcome, SendResult } from '../../smtp/client/outcome.ts'
import type { Claimed } from '../queue/attempts.ts'
import type { QueuedRow } from '../queue/keys.ts'

type LocalDelivery = QueuedRow & Pick<Claimed, 'has_arrived'>

export interface LocalMail {
  /** Of one submission, as they stand in the queue. */
  deliveries: readonly LocalDelivery[]
  mailFrom: string
  /** Final bytes, DKIM-Signature included. */
  source: Buffer
  smtputf8: boolean
}

export interface LocalInboxes {
  /** Whether mail for the domain is filed here. */
  takes(domain: string): boolean | Promise<boolean>
  /** One answer per delivery, in their order; null where there is no inbox of that name. */
  deliver(mail: LocalMail): Promise<(Outcome | null)[]>
}

type LocalResult = SendResult | { kind: 'no_inbox' }

/** What became of each recipient, as far as it has an inbox. A pause withholds all that have not arrived. */
export async function deliverLocally(
  inboxes: LocalInboxes,
  deliveries: readonly LocalDelivery[],
  { mayBegin, mailFrom, source, smtputf8 }: Envelope,
): Promise<LocalResult[]> {
  const arrived = deliveries.filter(each => each.has_arrived)
  const isWithheld = arrived.length < deliveries.length && !(await mayBegin({ isClear: false }))
  const asked = isWithheld ? arrived : deliveries
  const answers = asked.length > 0 ? await inboxes.deliver({ deliveries: asked, mailFrom, source, smtputf8 }) : []
  return deliveries.map(each =>
    isWithheld && !each.has_arrived ? { kind: 'withheld' } : (answers.shift() ?? { kind: 'no_inbox' }),
  )
}
