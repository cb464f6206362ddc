// Who is asked to decide must be a person. A link that is mailed into an inbox of the account could be read, and followed, by
// the agent whose mail waits.
import type { World } from '../../platform/world.ts'
import { Recipients } from '../inbound/recognise.ts'
import { isConnectedMailbox } from './queries.ts'

/** The address of a contact; null when the account has no such contact any more. */
export type EmailContact = (contact: { accountId: string; contactId: string }) => Promise<string | null>

/** Null as well where mail to the address is read by an inbox of the same account: its own, or that of a mailbox it mirrors. */
export function contactPersons(world: World, emailContact: EmailContact): EmailContact {
  const recipients = new Recipients(world)
  return async contact => {
    const address = await emailContact(contact)
    if (address === null) return null
    const known = await recipients.recognise(address)
    if (known?.kind === 'inbox' && known.accountId === contact.accountId) return null
    return (await isConnectedMailbox(world.db, contact.accountId, address)) ? null : address
  }
}
