// Who a contact with a mail address is, for features that are sent back what a mail to it carried.
import type { World } from '../../platform/world.ts'
import { findEmailTarget } from './queries.ts'
import { openTarget } from './target.ts'

/** The address; null when the account has no such contact, or no longer. */
export const emailContacts =
  ({ db, secrets }: World) =>
  async ({ accountId, contactId }: { accountId: string; contactId: string }): Promise<string | null> => {
    const stored = await findEmailTarget(db, { accountId }, contactId)
    return stored && openTarget(secrets, contactId, stored)
  }
