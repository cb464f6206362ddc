-- Billing: the plan catalogue, which plan prices whom from when, and what the payment provider has told.

-- All money is in integer minor units. Values fit into a JSON number (2^53); what is computed from them is exact whatever
-- its size.
create table plans (
  id uuid primary key,
  name text not null,
  currency text not null,
  base_price_minor bigint not null check (base_price_minor >= 0),
  included_recipients bigint not null check (included_recipients >= 0),
  overage_per_thousand_minor bigint not null check (overage_per_thousand_minor >= 0),
  -- [{up_to_recipients, price_per_thousand_minor}], ascending, the last one open (0). Empty: one price for all overage.
  tiers jsonb not null,
  payment_price_id text,
  created_at timestamptz not null,
  -- Set: kept for the months that it priced, and not assigned any more.
  archived_at timestamptz
);
-- A price of the payment provider is sold as one plan.
create unique index plans_payment_price on plans (payment_price_id)
  where payment_price_id is not null and archived_at is null;

-- History: rows are added and never changed. Of those effective on a month's last day the newest prices the month.
create table plan_assignments (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  -- Null: the account's own plan; otherwise the rate card of a tenant.
  tenant_id uuid references tenants (id),
  -- Null: no plan from this day on.
  plan_id uuid references plans (id),
  effective_from date not null,
  source text not null check (source in ('operator', 'account', 'payment')),
  created_at timestamptz not null
);
create index plan_assignments_by_account on plan_assignments (account_id, id desc);
-- For finding the newest effective one of an account or a tenant.
create index plan_assignments_by_scope on plan_assignments (account_id, tenant_id, effective_from desc, id desc);

-- For reading a month of an account. It holds no column that acceptance updates, so that counting stays within its page.
create index usage_days_by_account on usage_days (account_id, day, tenant_id);

-- Customers of the payment provider. An account may have several, when checkouts were completed side by side.
create table payment_customers (
  customer_id text primary key,
  account_id uuid not null references accounts (id),
  created_at timestamptz not null
);
create index payment_customers_by_account on payment_customers (account_id, created_at desc);

-- The newest state of each subscription that the payment provider has told. Events come in any order.
create table payment_subscriptions (
  subscription_id text primary key,
  customer_id text not null,
  -- Null until a checkout says whose customer it is.
  account_id uuid references accounts (id),
  -- Null when no plan has its price.
  plan_id uuid references plans (id),
  status text not null,
  -- When the provider says that this state began: the time of the event.
  state_at timestamptz not null,
  started_at timestamptz not null
);
create index payment_subscriptions_by_account on payment_subscriptions (account_id);
create index payment_subscriptions_by_customer on payment_subscriptions (customer_id);

-- Events that were processed, so that each is processed once.
create table payment_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null
);
create index payment_events_by_age on payment_events (received_at);
