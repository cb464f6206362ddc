-- What a mirror needs to recognise a message that comes back under another UID.

alter table remote_folders
  -- Which of the folders that every inbox has it is mirrored in; null: one of its own.
  add column role text check (role in ('inbox', 'sent', 'archive', 'spam', 'trash')),
  -- False: nothing is fetched from it. Messages that left every other folder are looked for in it (all mail).
  add column is_mirrored boolean not null default true;

-- A hash of the Message-ID, else of date and size. A message that moved, or whose folder got a new UIDVALIDITY, has it still.
-- A row whose UID is not above zero is of a message that was not found again: it moved, or it is gone.
alter table remote_messages add column identity bytea not null;
create index remote_messages_by_identity on remote_messages (inbox_id, identity);
drop index remote_messages_by_inbox;
-- Few rows: those to be removed at the provider, and those not found again.
create index remote_messages_removed on remote_messages (inbox_id) where message_id is null;
create index remote_messages_lost on remote_messages (inbox_id) where uid <= 0;
