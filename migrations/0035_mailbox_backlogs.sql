-- Accounts whose sent mail has more recipients than a round of the tail of deliveries looks at, or that have a locked inbox.
-- Their events after `cursor`, up to where the tail has come, are followed in slices, account by account. Without a foreign
-- key: its check would make the tail, which works for all accounts, wait for the lock of one.
create table mailbox_backlogs (
  account_id uuid primary key,
  cursor bigint not null,
  -- When it last had a slice, or was put here. The longest ago is next.
  served_at timestamptz not null
) with (fillfactor = 50);
