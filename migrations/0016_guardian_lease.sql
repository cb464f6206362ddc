-- What a pass of the guardian decides is done in transactions of their own, account by account.
alter table guardian_pass
  alter column evaluated_at drop not null,
  -- Keeps other processes from beginning a pass while this one acts. When the holder dies, the next pass begins after the
  -- lease has lapsed.
  add column lease_token uuid,
  add column lease_until timestamptz;
