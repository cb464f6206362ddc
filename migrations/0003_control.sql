-- Pauses over long queues, roll-ups of the journal, throttles, where SMTP credentials are used from.

-- A pause takes effect at once; what waits in the queue is parked, and later given back, in batches behind it.
alter table suspensions
  -- Null while mail that was queued before the pause may not be parked yet.
  add column parked_at timestamptz,
  -- Null until all that a resumed pause held is released or cancelled.
  add column drained_at timestamptz,
  -- Nothing it holds was held before this time.
  add column held_since timestamptz not null default now(),
  -- Exact, fixed when it was resumed.
  add column affected_deliveries bigint;
-- Also one active pause per scope, but the operator's stands beside the account's own: either may end without the other.
drop index suspensions_active;
create unique index suspensions_active on suspensions (account_id, scope_type, scope_value, (source = 'operator'))
  where status = 'active';
-- Whether an account is paused is said by its pauses.
alter table accounts drop column status;
create function account_status(account uuid) returns text language sql stable as $$
  select case when exists (
    select from suspensions where account_id = account and scope_type = 'account' and status = 'active'
  ) then 'paused' else 'active' end
$$;
create index suspensions_to_park on suspensions (created_at) where status = 'active' and parked_at is null;
create index suspensions_to_drain on suspensions (resumed_at) where status = 'resumed' and drained_at is null;

-- How many recipients each pause holds, as a sum of changes: a counter in one row would make every acceptance of held
-- mail wait for the one before. A loop adds the changes up.
create table suspension_holds (
  suspension_id uuid not null,
  held bigint not null
);
create index suspension_holds_by_suspension on suspension_holds (suspension_id);

-- Walking an account's or a tenant's queue in order, and what a pause holds.
drop index queue_by_tenant;
create index queue_by_account on queue (account_id, tenant_id, message_id, n);
drop index queue_held;
create index queue_held on queue (suspension_id, message_id, n) where status = 'held';

-- Roll-ups of the journal per minute and per hour. `tenant_id` is all zeros where the scope spans tenants.
create table metric_minutes (
  account_id uuid not null,
  scope_type text not null check (scope_type in ('account', 'tenant', 'domain', 'sender', 'credential', 'api_key')),
  scope_value text not null,
  tenant_id uuid not null,
  start timestamptz not null,
  recipients bigint not null,
  delivered bigint not null,
  hard_bounces bigint not null,
  soft_bounces bigint not null,
  blocks bigint not null,
  deferrals bigint not null,
  complaints bigint not null,
  auth_failures bigint not null,
  primary key (account_id, scope_type, scope_value, tenant_id, start)
) with (fillfactor = 70);
create index metric_minutes_by_time on metric_minutes (account_id, scope_type, start);

create table metric_hours (like metric_minutes including all) with (fillfactor = 70);

-- When something was last counted for a scope: what the guardian looks at.
create table metric_activity (
  account_id uuid not null,
  scope_type text not null,
  scope_value text not null,
  tenant_id uuid not null,
  counted_at timestamptz not null,
  primary key (account_id, scope_type, scope_value, tenant_id)
) with (fillfactor = 50);

-- A cap that the guardian has put on a tenant, beside the tenant's own rate.
create table tenant_throttles (
  tenant_id uuid primary key references tenants,
  account_id uuid not null,
  rate_per_minute bigint not null check (rate_per_minute >= 1),
  rule_id uuid not null,
  rule_name text not null,
  created_at timestamptz not null
);

-- Addresses that an SMTP credential logged in from, per minute.
create table credential_addresses (
  credential_id uuid not null,
  minute timestamptz not null,
  address text not null,
  account_id uuid not null,
  tenant_id uuid not null,
  primary key (credential_id, minute, address)
);
create index credential_addresses_by_minute on credential_addresses (minute);
