-- How an audit entry's MAC was made: 1 without its place in the log, 2 with the id, the previous id and the time.
-- No default: a process of an older version must fail to append, not leave an entry that looks forged for ever.
alter table audit_entries add column mac_version smallint not null default 1;
alter table audit_entries alter column mac_version drop default;
