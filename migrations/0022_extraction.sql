-- Extraction by a model: what an account has used of its tokens.

-- By UTC month, the first day of it. What was used never exceeds the cap of the account together with what is reserved:
-- both change under the lock of this row. Months that have ended stay, for the account's own books.
create table ai_token_months (
  account_id uuid not null,
  month date not null,
  used bigint not null default 0 check (used >= 0),
  primary key (account_id, month)
);

-- Calls that are in flight: as much as each may use at the most. A row whose lease has lapsed counts no more; its process
-- has died before it could say what was used.
create table ai_reservations (
  id uuid primary key,
  account_id uuid not null,
  month date not null,
  tokens bigint not null check (tokens > 0),
  lease_until timestamptz not null
);
create index ai_reservations_by_account on ai_reservations (account_id, month);
-- The oldest are removed first.
create index ai_reservations_by_lease on ai_reservations (lease_until);
