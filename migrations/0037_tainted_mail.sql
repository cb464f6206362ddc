-- What the HTML of a mail shows and hides besides its text: a new mail must not repeat it unseen where the mail is tainted.
-- Null for mail that was filed before this was kept, and for what was sent.
alter table source_texts add column html_text text;

-- The thread that a draft continues is gone, and was tainted: the draft waits for a person as it would have before.
alter table drafts add column is_tainted boolean not null default false;
-- Drafts that continue a thread which goes with its last message.
create index drafts_by_thread on drafts (thread_id) where thread_id is not null;

-- A key that reads several inboxes may repeat in one what it read in another.
create index inbox_messages_tainted_by_tenant on inbox_messages (tenant_id, id desc) where is_tainted;
