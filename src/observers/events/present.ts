// How an event is shown, wherever it is shown: in the list, and pushed to a webhook.
import type { JournalEvent } from '../../platform/journal/read.ts'

/** The order of the fields is part of it: what is signed and pushed must be what the list shows. */
export const presentEvent = <Type extends string>(event: JournalEvent & { type: Type }) => ({
  id: event.id,
  type: event.type,
  account_id: event.account_id,
  tenant_id: event.tenant_id,
  message_id: event.message_id,
  recipient: event.recipient,
  created_at: event.created_at.toISOString(),
  ...(event.inbox_id === null ? {} : { inbox_id: event.inbox_id }),
  data: event.data,
})
