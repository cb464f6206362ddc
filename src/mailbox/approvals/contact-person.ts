// Who is asked to decide must be a person. A link that is mailed into an inbox of the account could be read, and followed, by
// the agent whose mail waits.
import type { World } from '../../platform/world.ts'
import { Recipients } from '../inbound/recognise.ts'

/** The address of a contact; null when the account has no such contact any more. */
export type EmailContact = (contact: { accountId: string; contactId: string }) => Promise<string | null>

/** Null as well where the address is an inbox of the same account, with or without a tag. */
export function contactPersons(world: World, emailContact: EmailContact): EmailContact {
  const recipients = new Recipients(world)
  return async contact => {
    const address = await emailContact(contact)
    const known = address === null ? null : await recipients.recognise(address)
    return known?.kind === 'inbox' && known.accountId === contact.accountId ? null : address
  }
}
