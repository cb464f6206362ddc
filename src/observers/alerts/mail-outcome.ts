// What became of an alert that went out as mail. Accepting it into the queue says nothing yet: it may be held, or bounce, and
// a contact that is told so early would be believed to know.
import type { Tx } from '../../platform/db/database.ts'
import { isUuid } from '../../platform/ids.ts'
import { listMailOutcomes, updateMailDelivered, updateMailFailed, type MailOutcome } from './mail-queries.ts'

const ERROR_LENGTH_MAX = 300

export async function followMails(tx: Tx, range: { after: number; upTo: number }): Promise<void> {
  for (const outcome of await listMailOutcomes(tx, range)) {
    if (!isUuid(outcome.notification_id)) continue
    if (outcome.type === 'delivered') await updateMailDelivered(tx, outcome.notification_id)
    else await updateMailFailed(tx, outcome.notification_id, errorOf(outcome))
  }
}

const SAID: Record<Exclude<MailOutcome['type'], 'delivered'>, string> = {
  bounced: 'The mail bounced',
  blocked: 'The mail was refused',
  expired: 'The mail could not be delivered in time',
  cancelled: 'The mail was cancelled',
  complained: 'The mail was reported as unwanted',
}

function errorOf({ type, response }: MailOutcome): string {
  const said = SAID[type as keyof typeof SAID]
  const text = response ? `${said}: ${response.replace(/\p{Cc}+/gu, ' ')}` : `${said}.`
  return text.slice(0, ERROR_LENGTH_MAX).toWellFormed()
}
