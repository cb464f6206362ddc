// Inboxes that lost their domain have it again once their tenant has registered it anew.
import type { AttachInboxes } from '../../identity/domains/inbound.ts'
import { updateInboxesAttached, updateInboxesDetached } from './queries.ts'

export const attachInboxes: AttachInboxes = async (tx, domain) => {
  await updateInboxesDetached(tx, domain.name)
  await updateInboxesAttached(tx, domain)
}
