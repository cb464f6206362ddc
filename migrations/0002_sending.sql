-- Domains, SMTP credentials, messages and their deliveries, the queue, quotas, suppressions.

create table domains (
  id uuid primary key,
  account_id uuid not null references accounts,
  tenant_id uuid not null references tenants,
  name text not null,
  -- Under PLATFORM_DOMAIN: published by the installation itself, verified without DNS.
  is_platform boolean not null,
  dkim_selector text not null,
  dkim_public_key text not null,
  -- Sealed under SECRET_KEY, bound to this row.
  dkim_private_key text not null,
  -- What the last look at DNS found, per record.
  findings jsonb not null default '{}',
  checked_at timestamptz,
  verified_at timestamptz,
  mx_verified_at timestamptz,
  inbound_enabled boolean not null default false,
  -- Since when a verified domain has failed its daily checks.
  failing_since timestamptz,
  created_at timestamptz not null,
  constraint domains_name unique (tenant_id, name)
);
create index domains_by_account on domains (account_id, id desc);
-- Two tenants may claim a name; one may have it verified.
create unique index domains_verified on domains (name) where verified_at is not null;
create index domains_to_check on domains (checked_at) where verified_at is not null and not is_platform;

create table smtp_credentials (
  id uuid primary key,
  account_id uuid not null references accounts,
  tenant_id uuid not null references tenants,
  username text not null constraint smtp_credentials_username unique,
  password_hash bytea not null,
  allowed_cidrs text[] not null,
  created_at timestamptz not null,
  rotated_at timestamptz,
  last_used_at timestamptz
);
create index smtp_credentials_by_tenant on smtp_credentials (tenant_id, id desc);

-- Submitted once; never changed afterwards. Partitioned by time through the time-ordered id.
create table messages (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid not null,
  api_key_id uuid,
  credential_id uuid,
  -- Whose DKIM key signs; null where a sandbox account sends from a domain it does not have.
  domain_id uuid,
  sender text not null,
  sender_domain text not null,
  from_header text not null,
  subject text,
  rfc_message_id text not null,
  tags jsonb not null,
  metadata jsonb not null,
  size integer not null,
  recipients integer not null,
  is_sandbox boolean not null,
  needs_smtputf8 boolean not null,
  has_unsubscribe boolean not null,
  created_at timestamptz not null
) partition by range (id);
create index messages_by_account on messages (account_id, id);
create index messages_by_tenant on messages (tenant_id, id);
create index messages_by_sender on messages (account_id, sender, id);

-- The source as it is sent, but for the signature. A table of its own, because it is kept for a shorter time.
create table message_bodies (
  message_id uuid primary key,
  source bytea not null
) partition by range (message_id);

-- One message to one recipient. `open` while the queue holds it; the queue then knows the state. Written when accepted and
-- when decided, and no index covers what changes in the common case, so that the second write stays within its page.
create table deliveries (
  message_id uuid not null,
  n integer not null,
  account_id uuid not null,
  tenant_id uuid not null,
  recipient text not null,
  kind text not null check (kind in ('to', 'cc', 'bcc')),
  status text not null check (status in
    ('open', 'delivered', 'bounced', 'blocked', 'complained', 'suppressed', 'expired', 'cancelled')),
  attempts smallint not null default 0,
  bounce_type text,
  smtp_code smallint,
  enhanced_code text,
  response text,
  mx_host text,
  updated_at timestamptz not null,
  primary key (message_id, n)
) partition by range (message_id);
create index deliveries_by_recipient on deliveries (account_id, recipient, message_id);
create index deliveries_by_rare_status on deliveries (account_id, status, message_id)
  where status not in ('open', 'delivered');

-- Deliveries that are not decided: few rows however long the history is. The row is the job.
create table queue (
  message_id uuid not null,
  n integer not null,
  account_id uuid not null,
  tenant_id uuid not null,
  recipient text not null,
  recipient_domain text not null,
  status text not null check (status in ('queued', 'sending', 'deferred', 'held')),
  -- Order among what is queued: each tenant's recipients are spread along its own time line, so that a tenant's millionth
  -- recipient stands behind another tenant's first (start-time fair queueing).
  rank timestamptz not null,
  due_at timestamptz,
  attempts smallint not null default 0,
  -- How often a worker died holding it.
  crashes smallint not null default 0,
  lease_token uuid,
  lease_until timestamptz,
  suspension_id uuid,
  held_at timestamptz,
  smtp_code smallint,
  enhanced_code text,
  response text,
  mx_host text,
  accepted_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (message_id, n)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index queue_queued on queue (rank) where status = 'queued';
create index queue_deferred on queue (due_at) where status = 'deferred';
create index queue_leases on queue (lease_until) where status = 'sending';
create index queue_held on queue (suspension_id) where status = 'held';
create index queue_by_tenant on queue (tenant_id);

-- Exact counters of the running windows, one row per tenant, locked by every acceptance of that tenant.
create table tenant_counters (
  tenant_id uuid primary key references tenants,
  minute timestamptz not null,
  minute_count bigint not null,
  hour timestamptz not null,
  hour_count bigint not null,
  day date not null,
  day_count bigint not null,
  month date not null,
  month_count bigint not null,
  -- Where the tenant's next recipient stands in the queue.
  rank timestamptz not null
) with (fillfactor = 50);

-- What billing meters: recipients accepted per UTC day.
create table usage_days (
  tenant_id uuid not null,
  day date not null,
  account_id uuid not null,
  recipients bigint not null,
  messages bigint not null,
  primary key (tenant_id, day)
) with (fillfactor = 70);

create table idempotency_keys (
  tenant_id uuid not null,
  key text not null,
  body_hash bytea not null,
  message_id uuid not null,
  response jsonb not null,
  created_at timestamptz not null,
  primary key (tenant_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create table suppressions (
  id uuid primary key,
  account_id uuid not null references accounts,
  -- Null: every tenant of the account.
  tenant_id uuid references tenants,
  address text not null,
  reason text not null check (reason in ('hard_bounce', 'complaint', 'unsubscribe', 'manual')),
  detail text,
  message_id uuid,
  created_at timestamptz not null,
  constraint suppressions_address unique nulls not distinct (account_id, tenant_id, address)
);
create index suppressions_by_account on suppressions (account_id, id desc);
create index suppressions_by_address on suppressions (account_id, address);

-- Weekly partitions by the time in a UUIDv7. A default partition takes what no week was made for, so that nothing is refused.
-- Compressing costs more time than it saves space at these sizes.
alter table message_bodies alter column source set storage external;

create table messages_default partition of messages default;
create table message_bodies_default partition of message_bodies default;
create table deliveries_default partition of deliveries default;

create function uuid_at(moment timestamptz) returns uuid language sql immutable parallel safe as $$
  select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

create function create_message_partitions(now timestamptz, weeks_ahead integer) returns integer language plpgsql as $$
declare
  monday timestamptz;
  name text;
  parent text;
  -- Bodies of up to 8 kB stay in the row; a delivery is written a second time, in its page.
  settings constant jsonb := '{"messages": "fillfactor = 100", "message_bodies": "toast_tuple_target = 8160",
    "deliveries": "fillfactor = 80"}';
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('create_message_partitions'));
  for week in 0 .. weeks_ahead loop
    monday := date_trunc('week', now at time zone 'utc') at time zone 'utc' + week * interval '7 days';
    foreach parent in array array['messages', 'message_bodies', 'deliveries'] loop
      name := parent || '_' || to_char(monday at time zone 'utc', 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      begin
        execute format('create table %I (like %I including defaults including constraints including storage) with (%s)',
          name, parent, settings ->> parent);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          parent, name, uuid_at(monday), uuid_at(monday + interval '7 days'));
        made := made + 1;
      exception when check_violation then
        -- The default partition holds rows of that week already: they stay there, and so does the rest of the week.
        null;
      end;
    end loop;
  end loop;
  return made;
end $$;
select create_message_partitions(now(), 2);
