-- What the HTML of a mail shows and hides besides its text: a new mail must not repeat it unseen where the mail is tainted.
-- Null for mail that was filed before this was kept, and for what was sent.
alter table source_texts add column html_text text;

-- The thread that a draft continues is gone, and was tainted: the draft waits for a person as it would have before.
alter table drafts add column is_tainted boolean not null default false;
-- Drafts that continue a thread which goes with its last message.
create index drafts_by_thread on drafts (thread_id) where thread_id is not null;

-- A key that reads several inboxes may repeat in one what it read in another.
create index inbox_messages_tainted_by_tenant on inbox_messages (tenant_id, id desc) where is_tainted;

-- Tainted mail that was deleted: what repeats it is still held for some days. Of its words only hashes of passages are kept.
-- At most so many of an inbox, and gone with the inbox.
create table removed_taints (
  message_id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  inbox_id uuid not null references inboxes (id) on delete cascade,
  thread_id uuid not null,
  removed_at timestamptz not null,
  -- Where its texts are until its passages are hashed, which its source waits for. Null from then on, and so are these.
  source_id uuid,
  subject text,
  from_text text,
  passages bytea
);
create index removed_taints_by_inbox on removed_taints (inbox_id, removed_at desc);
create index removed_taints_by_tenant on removed_taints (tenant_id, removed_at desc);
create index removed_taints_by_age on removed_taints (removed_at);
create index removed_taints_by_source on removed_taints (source_id) where source_id is not null;
create index removed_taints_unhashed on removed_taints (tenant_id, message_id desc) where source_id is not null;
