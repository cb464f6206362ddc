-- Mail that leaves a mailbox: approvals, the hourly counts of inboxes, and drafts.

-- A composed mail that waits for a person. The mail itself is in its thread already, with its source; what is kept here says
-- why it waits, who asked and what exactly would leave.
create table approvals (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id) on delete cascade,
  -- Removed for good together with its mail: what no longer exists cannot be approved.
  inbox_message_id uuid not null references inbox_messages (id) on delete cascade,
  status text not null check (status in ('pending', 'approved', 'rejected', 'sent')),
  -- [{ kind, detail, findings }]: why it was held; after a rejection by time also `expired`.
  reasons jsonb not null,
  requested_by jsonb not null,
  -- The key that asked can never approve. Null: no key asked.
  requested_key_id uuid,
  -- Sender, recipients and the other fields that the submission carries beside its source.
  envelope jsonb not null,
  -- SHA-256 over envelope and source: what is approved is what leaves.
  content_hash bytea not null,
  decided_by jsonb,
  decided_at timestamptz,
  created_at timestamptz not null,
  -- Still pending then: rejected.
  expires_at timestamptz not null
);
create index approvals_by_inbox on approvals (inbox_id, id desc);
create index approvals_by_status on approvals (inbox_id, status, id desc);
-- A mail waits for one approval; and the tail of deliveries finds it by its mail.
create unique index approvals_by_message on approvals (inbox_message_id);
create index approvals_expiring on approvals (expires_at) where status = 'pending';

-- How many mails left an inbox in an hour of the UTC clock. Written under the lock of the inbox.
create table inbox_send_counts (
  inbox_id uuid not null references inboxes (id) on delete cascade,
  hour timestamptz not null,
  count integer not null check (count >= 0),
  primary key (inbox_id, hour)
);
create index inbox_send_counts_by_hour on inbox_send_counts (hour);

-- Mail that is not to be trusted: a new mail must not repeat it unseen.
create index inbox_messages_tainted on inbox_messages (inbox_id, id desc) where is_tainted;

-- Drafts live in no folder. A scheduled one carries its own due time and lease.
create table drafts (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id) on delete cascade,
  thread_id uuid,
  -- The message replied to.
  reply_to_id uuid,
  -- The message that a scheduled forward carries: its text and attachments are the draft's already, its taint is asked again
  -- when the draft is sent.
  forwarded_id uuid,
  to_list text[] not null default '{}',
  cc_list text[] not null default '{}',
  bcc_list text[] not null default '{}',
  subject text,
  text text,
  html text,
  -- What the caller asked for; null: a plain draft.
  scheduled_at timestamptz,
  requested_by jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When a worker takes it: at scheduled_at, later after a try that must be repeated. Null: not scheduled.
  due_at timestamptz,
  attempts smallint not null default 0,
  lease_token uuid,
  last_error text
);
create index drafts_by_inbox on drafts (inbox_id, id desc);
create index drafts_due on drafts (due_at) where due_at is not null;

create table draft_attachments (
  id uuid primary key,
  draft_id uuid not null references drafts (id) on delete cascade,
  n integer not null,
  filename text,
  content_type text not null,
  content_id text,
  is_inline boolean not null,
  size integer not null,
  content bytea not null,
  unique (draft_id, n)
);
alter table draft_attachments alter column content set storage external;
