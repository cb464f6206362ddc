// The mailbox elsewhere that an inbox mirrors, as the inbox and the events of its stream show it.
import type { Connection } from './inbox-schema.ts'

export const presentConnection = ({
  address,
  state,
  last_sync_at,
  messages_synced,
  messages_total,
  error,
}: Omit<Connection, 'last_sync_at'> & { last_sync_at: Date | string | null }): Connection => ({
  address,
  state,
  last_sync_at: last_sync_at && new Date(last_sync_at).toISOString(),
  messages_synced,
  messages_total,
  error,
})
