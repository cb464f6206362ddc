-- Inboxes that mirror a mailbox at Google or Microsoft.

-- One row for each connected inbox. Synchronising it is leased work: the process that has leased it has the one IMAP session.
create table connections (
  inbox_id uuid primary key references inboxes (id) on delete cascade,
  account_id uuid not null,
  tenant_id uuid not null,
  provider text not null check (provider in ('google', 'microsoft')),
  -- Of the mailbox at the provider, in lower case; what is sent leaves from it.
  address text not null,
  -- Sealed, bound to this row. Null: the grant is gone.
  refresh_token bytea,
  access_token bytea,
  access_expires_at timestamptz,
  -- syncing: history is still being fetched. reconnect_required: the grant is gone, a person must connect again.
  state text not null check (state in ('syncing', 'live', 'failing', 'reconnect_required')),
  error text,
  -- Rises with each new grant: work that began under an older one records nothing.
  generation integer not null default 1,
  last_sync_at timestamptz,
  messages_synced bigint not null default 0,
  messages_total bigint,
  connected_at timestamptz not null,
  -- When a worker takes it, and since when it fails. Null: nothing to do, which is so without a grant.
  due_at timestamptz,
  attempts smallint not null default 0,
  lease_token uuid
);
create index connections_due on connections (due_at) where due_at is not null;
create index connections_by_account on connections (account_id);

-- A state that was handed to a browser; taken once.
create table connect_states (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id) on delete cascade,
  provider text not null,
  -- Sealed: the PKCE verifier, the nonce and who asked.
  content bytea not null,
  expires_at timestamptz not null
);
create index connect_states_expiring on connect_states (expires_at);

-- Folders of the mailbox at the provider, and how far each was read.
create table remote_folders (
  id uuid primary key,
  inbox_id uuid not null references inboxes (id) on delete cascade,
  path text not null,
  -- The folder here that it is mirrored in; null: not mirrored (all mail, drafts).
  folder_id uuid references folders (id) on delete set null,
  uid_validity bigint not null,
  -- Everything from this UID on is new mail.
  next_uid bigint not null,
  -- History is fetched from the newest down: everything from this UID on is here. 1: all of it.
  fetched_from bigint not null,
  -- CONDSTORE, where the server has it.
  highest_modseq numeric,
  unique (inbox_id, path)
);

-- Which message at the provider each message of the inbox is, and what both sides agreed on last.
create table remote_messages (
  remote_folder_id uuid not null references remote_folders (id) on delete cascade,
  uid bigint not null,
  inbox_id uuid not null,
  -- Null: removed here for good, to be removed there.
  message_id uuid references inbox_messages (id) on delete set null,
  is_read boolean not null,
  primary key (remote_folder_id, uid)
);
create index remote_messages_by_message on remote_messages (message_id) where message_id is not null;
create index remote_messages_by_inbox on remote_messages (inbox_id);

-- Set on mail that leaves through the provider of the inbox that sent it.
alter table messages add column relay_inbox_id uuid;
