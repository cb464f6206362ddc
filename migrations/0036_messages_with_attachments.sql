-- For has:attachment in a search: the newest of a folder that have attachments, however few or old they are.
create index inbox_messages_with_attachments on inbox_messages (folder_id, id desc) where has_attachments;
