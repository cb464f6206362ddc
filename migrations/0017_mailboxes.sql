-- Mailboxes: mail that came in or was sent out of an inbox, in threads and folders.
--
-- Every transaction that changes a mailbox locks the row of its inbox first (several inboxes: in the order of their ids).
-- Counts, threads and folders of one inbox therefore change one after the other, and need no locks of their own.

alter table inboxes
  -- Null once the domain was deleted, or somebody else verified its name: the inbox keeps its mail and receives none.
  add column domain_id uuid references domains (id) on delete set null,
  add column local_part text,
  add column display_name text,
  add column status text not null default 'active' check (status in ('active', 'paused')),
  add column policy jsonb not null default '{}',
  add column metadata jsonb not null default '{}',
  add column provider text not null default 'native' check (provider in ('native', 'google', 'microsoft')),
  -- Set: gone for every caller; what it held is removed in batches, then the row itself.
  add column deleted_at timestamptz;
update inboxes set local_part = split_part(address, '@', 1);
alter table inboxes alter column local_part set not null;
-- Addresses are kept in lower case. One that lost its domain is free for the inbox of a tenant that has the domain now.
create unique index inboxes_address on inboxes (address) where deleted_at is null and domain_id is not null;
create index inboxes_by_account on inboxes (account_id, id desc);
create index inboxes_by_domain on inboxes (domain_id);
create index inboxes_to_remove on inboxes (deleted_at) where deleted_at is not null;
-- A deleted inbox takes its keys with it.
create index api_keys_by_inbox on api_keys (inbox_id) where inbox_id is not null;

-- System folders are made with the inbox. Messages name their folder by its id, so a rename is one row.
create table folders (
  id uuid primary key,
  inbox_id uuid not null references inboxes (id),
  name text not null,
  -- The name as it is compared: case folded, normalised.
  name_key text not null,
  is_system boolean not null default false,
  -- Kept by the transactions that change messages; equal to a recount at any time.
  total integer not null default 0 check (total >= 0),
  unread integer not null default 0 check (unread >= 0),
  -- Of the total: blocked by the shield.
  blocked integer not null default 0 check (blocked >= 0),
  created_at timestamptz not null,
  -- Set when trash or spam was emptied: another row has taken the name, and what is in this one is gone for every reader.
  -- Its messages are removed in batches, then the row itself.
  discarded_at timestamptz
);
create unique index folders_name on folders (inbox_id, name_key) where discarded_at is null;
create index folders_by_inbox on folders (inbox_id);
create index folders_discarded on folders (discarded_at) where discarded_at is not null;

create table threads (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id),
  subject text not null,
  -- The subject without Re: and Fwd:, case folded; mail without references joins by it.
  subject_key text not null,
  -- Addresses in lower case, the inbox itself left out; at most 100.
  participants text[] not null default '{}',
  -- Messages outside trash: emptying the trash changes no thread.
  message_count integer not null default 0 check (message_count >= 0),
  unread_count integer not null default 0 check (unread_count >= 0),
  -- Messages outside trash and spam: the thread is listed while there are any.
  visible_count integer not null default 0 check (visible_count >= 0),
  labels text[] not null default '{}',
  is_tainted boolean not null default false,
  taint_reasons jsonb not null default '[]',
  last_message_at timestamptz not null,
  created_at timestamptz not null,
  -- A reply came before its parent and the two threads became one; this id still leads there.
  merged_into uuid
);
create index threads_by_inbox on threads (inbox_id, last_message_at desc, id desc)
  where merged_into is null and visible_count > 0;
create index threads_by_subject on threads (inbox_id, subject_key, last_message_at desc);
create index threads_merged on threads (merged_into) where merged_into is not null;

-- Which thread a Message-ID belongs to within an inbox: that of a message, or one that a message refers to and that may
-- still come. The id is kept as the first 16 bytes of its SHA-256.
create table thread_references (
  inbox_id uuid not null,
  rfc_id bytea not null,
  thread_id uuid not null,
  primary key (inbox_id, rfc_id)
);
create index thread_references_by_thread on thread_references (thread_id);

-- A mail as it was received or sent, once for all inboxes that it was filed in.
create table mail_sources (
  id uuid primary key,
  -- With our trace fields above it.
  content bytea not null,
  -- How many bytes of the content are ours.
  head_bytes integer not null default 0,
  size integer not null,
  created_at timestamptz not null
);
alter table mail_sources alter column content set storage external;
alter table mail_sources set (toast_tuple_target = 8160);

-- What was read in a source. No row: it could not be read, or has not been.
create table source_texts (
  source_id uuid primary key references mail_sources (id) on delete cascade,
  -- The field Authentication-Results, which is shown above the source.
  authentication_results text not null default '',
  text text not null,
  -- Sanitised.
  html text,
  extracted_text text not null,
  -- What was cut or could not be read, for a person.
  notes text[] not null default '{}'
);

create table source_attachments (
  id uuid primary key,
  source_id uuid not null references mail_sources (id) on delete cascade,
  -- The account that its text is extracted for; the source may be shared by several.
  account_id uuid not null,
  n integer not null,
  filename text,
  content_type text not null,
  content_id text,
  is_inline boolean not null,
  size integer not null,
  content bytea not null,
  -- Null: not extracted, or there is none.
  text text,
  text_state text not null default 'pending' check (text_state in ('pending', 'done', 'none', 'failed')),
  text_reason text,
  due_at timestamptz,
  attempts smallint not null default 0,
  lease_token uuid,
  unique (source_id, n)
);
alter table source_attachments alter column content set storage external;
create index source_attachments_due on source_attachments (due_at) where text_state = 'pending';

create table inbox_messages (
  -- UUIDv7 of the time it was received or sent: the order of every list.
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id),
  thread_id uuid not null references threads (id),
  folder_id uuid not null references folders (id),
  source_id uuid references mail_sources (id),
  direction text not null check (direction in ('in', 'out')),
  is_read boolean not null,
  labels text[] not null default '{}',
  from_text text not null,
  -- In lower case; '' when the mail names none.
  from_address text not null,
  to_list text[] not null,
  cc_list text[] not null,
  bcc_list text[] not null default '{}',
  reply_to text,
  subject text not null,
  snippet text not null,
  rfc_message_id text,
  in_reply_to text,
  reference_ids text[] not null default '{}',
  date timestamptz,
  received_at timestamptz not null,
  size integer not null,
  has_attachments boolean not null default false,
  auth jsonb,
  shield jsonb,
  is_blocked boolean not null default false,
  is_tainted boolean not null default false,
  -- Of what was sent.
  status text,
  approval_id uuid,
  -- The submission that carries it.
  message_id uuid,
  extracted_data jsonb
);
create index inbox_messages_by_inbox on inbox_messages (inbox_id, id desc);
create index inbox_messages_by_folder on inbox_messages (folder_id, id desc);
create index inbox_messages_unread on inbox_messages (folder_id, id desc) where not is_read;
create index inbox_messages_by_thread on inbox_messages (thread_id, id);
create index inbox_messages_by_source on inbox_messages (source_id) where source_id is not null;
create index inbox_messages_by_submission on inbox_messages (message_id) where message_id is not null;

-- The labels of messages once more, to be found by.
create table message_labels (
  inbox_id uuid not null,
  label text not null,
  message_id uuid not null references inbox_messages (id) on delete cascade,
  primary key (inbox_id, label, message_id)
);
create index message_labels_by_message on message_labels (message_id);

-- Mail that was acknowledged and is not filed yet: the row is the job. One for each account that has an inbox among the
-- recipients; they share the source.
create table arrivals (
  id uuid primary key,
  account_id uuid not null,
  source_id uuid not null,
  size integer not null,
  -- Inboxes that it is for, each once.
  inbox_ids uuid[] not null,
  mail_from text not null,
  client_ip text not null,
  helo text not null,
  -- Set when the mail never left this installation: the submission that it came from.
  submitted_id uuid,
  received_at timestamptz not null,
  due_at timestamptz not null,
  attempts smallint not null default 0,
  -- Attempts that ended without a word: the worker died with it.
  crashes smallint not null default 0,
  lease_token uuid
);
create index arrivals_due on arrivals (due_at);
create index arrivals_by_account on arrivals (account_id, due_at);
-- A source that an arrival names is not removed.
create index arrivals_by_source on arrivals (source_id);

-- Sources that may have lost their last message. A worker looks, and removes those that nobody names any more; a transaction
-- that removes messages cannot tell, because another one may be removing the last but one at the same time.
create table source_removals (
  source_id uuid not null,
  -- Of the messages that were removed: while it is under legal hold, the source stays.
  account_id uuid not null,
  due_at timestamptz not null,
  primary key (source_id, account_id)
);
create index source_removals_due on source_removals (due_at);

-- How much each address has brought in a minute, over all processes. Not logged: a crash forgets a minute.
create unlogged table arrival_rates (
  network text not null,
  minute timestamptz not null,
  count integer not null,
  primary key (network, minute)
);

-- Events of an inbox: read by its streams, and by webhooks that name their kinds.
alter table events add column inbox_id uuid;
create index events_by_inbox on events (inbox_id, id) where inbox_id is not null;
create index events_of_inboxes on events (account_id, id) where inbox_id is not null;
-- The account's log leaves them out: reading it must not read past a million of them.
drop index events_by_account;
create index events_by_account on events (account_id, id) where inbox_id is null;
drop index events_by_tenant;
create index events_by_tenant on events (tenant_id, id) where tenant_id is not null and inbox_id is null;
