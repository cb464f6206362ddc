-- Folders are renamed and deleted on both sides of a mirror: what both agreed on last tells which side changed.
alter table remote_folders
  -- What the folder here was called when both sides agreed last. Without a folder here any more: it was deleted here, which the
  -- provider is to follow. Null: one that every inbox has, or none was made.
  add column agreed_name text;
update remote_folders r set agreed_name = f.name from folders f where f.id = r.folder_id and r.role is null;
