-- Webhooks: endpoints, what is to be pushed to them, and when.

create table webhooks (
  id uuid primary key,
  account_id uuid not null references accounts,
  -- Null: the events of every tenant, and those of none.
  tenant_id uuid references tenants,
  url text not null,
  -- Empty: all of them.
  event_types text[] not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  -- Why the service itself disabled it; null when somebody else did.
  disabled_reason text check (disabled_reason in ('gone', 'failing')),
  -- Sealed. After a rotation both sign until the time named.
  secret text not null,
  old_secret text,
  old_secret_until timestamptz,
  rotated_at timestamptz,
  -- It gets events after the one id, and up to the other once it is disabled.
  after_event_id bigint not null,
  until_event_id bigint,
  -- The first failure since the last success.
  failing_since timestamptz,
  created_at timestamptz not null
);
create index webhooks_by_account on webhooks (account_id, id desc);

-- When something of a webhook is due next, null when nothing is. A claim looks here first, so an endpoint with a million
-- attempts waiting is one row among others, and those with nothing to do are not looked at.
create table webhook_lanes (
  webhook_id uuid primary key references webhooks on delete cascade,
  due_at timestamptz
) with (fillfactor = 50);
create index webhook_lanes_due on webhook_lanes (due_at) where due_at is not null;

-- One event to one webhook: the record and the job. No foreign keys: events leave by partition, and what a deleted webhook
-- leaves behind is taken away in batches.
create table webhook_attempts (
  webhook_id uuid not null,
  event_id bigint not null,
  event_type text not null,
  status text not null check (status in ('pending', 'failed', 'delivered', 'dead')),
  -- Tries so far, and those since it was queued or replayed.
  attempt integer not null,
  round_tries smallint not null,
  -- When anybody may take it. A worker that takes it moves this to the end of its lease, so a lease that lapses gives the
  -- work back by itself. Null when decided.
  due_at timestamptz,
  lease_token uuid,
  response_status smallint,
  error text,
  latency_ms integer,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Lists are read along this key too: events and attempts have one order.
  primary key (webhook_id, event_id)
);
-- Claims: one endpoint's due work in order, whatever lies in its history and in front of others.
create index webhook_attempts_due on webhook_attempts (webhook_id, due_at, event_id) where status in ('pending', 'failed');
-- Listing what waits and what went wrong, and replaying it, without reading past all that was delivered.
create index webhook_attempts_by_status on webhook_attempts (webhook_id, status, event_id)
  where status in ('pending', 'failed', 'dead');
-- Retention: grows at its right edge only.
create index webhook_attempts_decided on webhook_attempts (status, updated_at) where status in ('delivered', 'dead');

-- Webhooks that are gone and whose attempts are still to be removed.
create table webhook_leavings (
  webhook_id uuid primary key
);
