// The addresses that are the inbox itself, in lower case: its own, and that of the mailbox elsewhere that it mirrors.
import type { StoredInbox } from './queries.ts'

export const addressesOf = ({ address, connection }: Pick<StoredInbox, 'address' | 'connection'>): string[] =>
  connection ? [address, connection.address] : [address]
