-- Of each of these the transaction that writes has locked the inbox, and nobody removes what its rows name without that lock;
-- a text is written while a message or an arrival names its source. Checking every row once more took a tenth of the time of
-- filing a mail, and a look at each message to remove a thread.
alter table inbox_messages drop constraint inbox_messages_inbox_id_fkey;
alter table inbox_messages drop constraint inbox_messages_thread_id_fkey;
alter table inbox_messages drop constraint inbox_messages_folder_id_fkey;
alter table threads drop constraint threads_inbox_id_fkey;
alter table message_words drop constraint message_words_message_id_fkey;
alter table source_texts drop constraint source_texts_source_id_fkey;
