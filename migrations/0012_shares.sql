-- Shares of an account: of webhooks, of their fan-out, of alert mail. What alerts are sent to is sealed.

-- Each event of an account makes a row per webhook.
alter table accounts add column webhooks_max integer not null default 100 check (webhooks_max between 1 and 2000);

-- Accounts that have more to fan out than a round of the tail takes. Their events after `cursor`, up to where the tail has
-- come, are fanned out in slices, account by account: one with a million keeps nobody waiting.
create table webhook_backlogs (
  account_id uuid primary key references accounts,
  cursor bigint not null,
  -- When it last had a slice, or was put here. The longest ago is next.
  served_at timestamptz not null
) with (fillfactor = 50);
