-- Rules and what they found, alerts, whom to tell of them.

-- Overrides; the platform's own rules are code. Null tenant: every tenant of the account.
create table rules (
  id uuid primary key,
  account_id uuid not null references accounts,
  tenant_id uuid references tenants,
  name text not null,
  metric text not null,
  scope_type text not null,
  window_seconds integer not null check (window_seconds between 60 and 604800),
  threshold double precision not null check (threshold >= 0),
  min_volume bigint not null check (min_volume >= 0),
  min_count bigint not null check (min_count >= 0),
  baseline_multiplier double precision check (baseline_multiplier > 0),
  action text not null check (action in ('alert', 'throttle', 'suspend')),
  severity text not null check (severity in ('info', 'warning', 'critical')),
  enabled boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint rules_name unique nulls not distinct (account_id, tenant_id, name)
);
-- Lists: those of tenants, newest first.
create index rules_by_account on rules (account_id, id desc);

-- Accounts whose rules changed: at the next pass their quiet scopes are looked at as well.
create table rule_changes (
  account_id uuid primary key,
  changed_at timestamptz not null
);

-- One row: when the rules were last evaluated.
create table guardian_pass (
  id integer primary key check (id = 1),
  evaluated_at timestamptz not null
);

-- A rule that is over its threshold for a scope, or was within its window. `tenant_id` is all zeros as in the roll-ups.
create table guardian_states (
  account_id uuid not null,
  rule_name text not null,
  scope_type text not null,
  scope_value text not null,
  tenant_id uuid not null,
  rule_id uuid not null,
  action text not null,
  alert_id uuid,
  since timestamptz not null,
  last_over timestamptz not null,
  primary key (account_id, rule_name, scope_type, scope_value, tenant_id)
) with (fillfactor = 50);

-- One per `anomaly_detected` event.
create table alerts (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid,
  kind text not null,
  severity text not null check (severity in ('info', 'warning', 'critical')),
  title text not null,
  scope text,
  rule_id uuid,
  rule_name text,
  data jsonb not null,
  created_at timestamptz not null,
  acked_at timestamptz,
  acked_by text
);
create index alerts_by_account on alerts (account_id, id desc);
create index alerts_by_tenant on alerts (tenant_id, id desc) where tenant_id is not null;
create index alerts_unacked on alerts (account_id, id desc) where acked_at is null;

create table alert_contacts (
  id uuid primary key,
  account_id uuid not null references accounts,
  channel text not null check (channel in ('email', 'webhook', 'chat', 'paging')),
  target text not null,
  min_severity text not null check (min_severity in ('info', 'warning', 'critical')),
  -- Of webhooks: sealed under SECRET_KEY, bound to this row.
  secret text,
  last_delivered_at timestamptz,
  last_failed_at timestamptz,
  last_error text,
  created_at timestamptz not null
);
create index alert_contacts_by_account on alert_contacts (account_id, id desc);

-- One alert to one contact. The row is the job.
create table alert_notifications (
  id uuid primary key,
  alert_id uuid not null references alerts,
  contact_id uuid not null references alert_contacts on delete cascade,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  attempts smallint not null default 0,
  due_at timestamptz not null,
  lease_token uuid,
  lease_until timestamptz,
  last_error text,
  updated_at timestamptz not null,
  constraint alert_notifications_once unique (alert_id, contact_id)
);
create index alert_notifications_due on alert_notifications (due_at) where status = 'pending';
-- For removing a contact with what it was told.
create index alert_notifications_by_contact on alert_notifications (contact_id);

-- When a scope was last resumed.
create index suspensions_by_scope on suspensions (account_id, scope_type, scope_value, resumed_at);
