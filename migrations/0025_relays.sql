-- Tokens of connected mailboxes, and mail that leaves through them.

-- Who is asking the provider for a new access token. Without a holder and in the future: the provider is not asked before.
alter table connections
  add column refresh_lease uuid,
  add column refresh_until timestamptz;
-- Whether a mailbox is connected to other inboxes: revoking one grant would end theirs.
create index connections_by_address on connections (provider, address);

-- What the mirror knows of the mailbox ends with the connection.
alter table remote_folders add constraint remote_folders_connection_fkey
  foreign key (inbox_id) references connections (inbox_id) on delete cascade;

create index connect_states_by_inbox on connect_states (inbox_id, expires_at);

-- Set on what leaves through the provider of an inbox: it is claimed, throttled and cancelled by that.
alter table queue add column relay_inbox_id uuid;
create index queue_by_relay on queue (relay_inbox_id, message_id, n) where relay_inbox_id is not null;
