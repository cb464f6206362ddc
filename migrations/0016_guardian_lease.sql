-- What a pass of the guardian decides is done in transactions of their own, account by account. The lease keeps other
-- processes from beginning a pass meanwhile; when its holder dies, the next pass begins after it has lapsed.
alter table guardian_pass
  alter column evaluated_at drop not null,
  add column lease_token uuid,
  add column lease_until timestamptz;
