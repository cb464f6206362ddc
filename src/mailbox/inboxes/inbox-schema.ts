// An inbox as the API shows it, with the mailbox elsewhere that it mirrors.
import type { Static } from 'typebox'
import { DateTime, Int64, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Policy } from './policy.ts'

export const Connection = Type.Object({
  address: Type.String({ description: 'Of the mailbox at the provider; what is sent leaves from it' }),
  state: Type.Enum(['syncing', 'live', 'failing', 'reconnect_required']),
  last_sync_at: Nullable(DateTime()),
  messages_synced: Int64(),
  messages_total: Nullable(Int64()),
  error: Nullable(Type.String({ description: 'Why it fails, for a person' })),
})
export type Connection = Static<typeof Connection>

export const STATUSES = ['active', 'paused'] as const

export const Inbox = NamedObject('Inbox', {
  id: Uuid(),
  tenant_id: Uuid(),
  domain_id: Nullable(
    Uuid({ description: 'Null once the domain is gone: the inbox keeps its mail and receives none' }),
  ),
  address: Type.String(),
  local_part: Type.String(),
  display_name: Nullable(Type.String()),
  status: Type.Enum([...STATUSES]),
  policy: Policy,
  metadata: Type.Record(Type.String(), Type.Unknown()),
  provider: Type.Enum(['native', 'google', 'microsoft']),
  // Null for an inbox of our own.
  connection: Nullable(Connection),
  created_at: DateTime(),
})
export type Inbox = Static<typeof Inbox>
