-- Secrets of webhooks that were in force before the old one, when a secret is rotated again within a day: each signs until its
-- own end. Objects of `secret` (sealed) and `until`, the newest first.
alter table webhooks add column older_secrets jsonb not null default '[]';
