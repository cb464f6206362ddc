-- Search in mailboxes: the words of each message, and the text of its attachments as work to be done.

create extension if not exists btree_gin;

-- The words of a message. Those of the subject, the sender and the recipients stand there once more with the letter of their
-- field, so that a search in a field is answered by the index too.
create table message_words (
  message_id uuid primary key references inbox_messages (id) on delete cascade,
  inbox_id uuid not null,
  words tsvector not null
)
-- Words of more than 2 kB are kept apart from the rows, so that the index leads to few pages.
with (toast_tuple_target = 128);

-- Measured with 300,000 messages of about 190 different words over 1,000 inboxes, one of them with 50,000, on two cores that
-- others used too (medians; searches rank the newest 2,000 matches):
--
--   index on                                       | size     | 4,000 rows | commonest, large | rare | 2 letters, small
--   inbox and words (this one)                     | 133 MB   |   3.0 s    |      75 ms       | 2 ms |      159 ms
--   words behind the whole inbox                   | 1,257 MB |  13.9 s    |      83 ms       | 1 ms |        8 ms
--   inbox and words behind one of 256 marks of it  | 793 MB   |  25.1 s    |      73 ms       | 1 ms |        8 ms
--   inbox and words behind one of 16 marks of it   | 268 MB   |   7.1 s    |     117 ms       | 2 ms |       49 ms
--
-- Words that begin with two letters are many in the whole installation, and only marks keep a search from reading all of them.
-- But every mark is paid for with each mail that is filed. So words are looked for by their beginning from three letters on.
create index message_words_found on message_words using gin (inbox_id, words);

-- Which accounts have attachments to be read, and their oldest: an account with many does not stand before the others.
create index source_attachments_due_by_account on source_attachments (account_id, due_at) where text_state = 'pending';
drop index source_attachments_due;
