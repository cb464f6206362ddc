// Mail to inboxes of this installation goes to them without a network hop. Delivery knows them by what the mailbox half
// lends it; recipients without an inbox go the way that mail to any other domain goes.
import type { Envelope, Outcome, SendResult } from '../../smtp/client/outcome.ts'
import type { QueuedRow } from '../queue/keys.ts'

export interface LocalMail {
  /** Of one submission, as they stand in the queue. */
  deliveries: readonly QueuedRow[]
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

/** What became of each recipient, as far as it has an inbox. A pause withholds all of them. */
export async function deliverLocally(
  inboxes: LocalInboxes,
  deliveries: readonly QueuedRow[],
  { mayBegin, mailFrom, source, smtputf8 }: Envelope,
): Promise<LocalResult[]> {
  if (!(await mayBegin())) return deliveries.map(() => ({ kind: 'withheld' }))
  const answers = await inboxes.deliver({ deliveries, mailFrom, source, smtputf8 })
  return answers.map(answer => answer ?? { kind: 'no_inbox' })
}
