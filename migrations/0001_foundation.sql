-- Accounts, tenants, keys, the journal and the audit log.

create table accounts (
  id uuid primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'paused')),
  data_region text not null,
  sandbox boolean not null,
  tier text not null default 'free',
  suspend_mode text not null default 'hold' check (suspend_mode in ('hold', 'reject')),
  hold_ttl_seconds bigint not null default 604800,
  body_retention_days integer not null default 30,
  metadata_retention_days integer not null default 365,
  hide_suppression_reason boolean not null default false,
  require_outbound_tls boolean not null default false,
  legal_hold boolean not null default false,
  ai_enabled boolean not null default false,
  ai_monthly_token_cap bigint not null default 1000000,
  created_at timestamptz not null
);

create table tenants (
  id uuid primary key,
  account_id uuid not null references accounts,
  external_id text not null,
  name text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  quota_daily bigint check (quota_daily >= 0),
  quota_monthly bigint check (quota_monthly >= 0),
  rate_per_minute bigint check (rate_per_minute >= 0),
  rate_per_hour bigint check (rate_per_hour >= 0),
  max_recipients_per_message integer not null default 1000 check (max_recipients_per_message >= 1),
  created_at timestamptz not null,
  constraint tenants_external_id unique (account_id, external_id)
);
-- Lists: newest first, keyset-paged on the time-ordered id.
create index tenants_by_account on tenants (account_id, id desc);

create table inboxes (
  id uuid primary key,
  account_id uuid not null references accounts,
  tenant_id uuid not null references tenants,
  address text not null,
  created_at timestamptz not null
);
create index inboxes_by_tenant on inboxes (tenant_id, id desc);

create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  tenant_id uuid references tenants,
  inbox_id uuid references inboxes,
  name text not null,
  -- Public part of the key, found at every request.
  prefix text not null constraint api_keys_prefix unique,
  secret_hash bytea not null,
  scopes text[] not null,
  allowed_cidrs text[] not null,
  expires_at timestamptz,
  created_at timestamptz not null,
  rotated_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- An inbox belongs to a tenant, and so does its key.
  constraint api_keys_inbox_has_tenant check (inbox_id is null or tenant_id is not null)
);
create index api_keys_by_account on api_keys (account_id, id desc) where revoked_at is null;

create table suspensions (
  id uuid primary key,
  account_id uuid not null references accounts,
  -- The tenant that the scope lies in; null when it spans the account.
  tenant_id uuid references tenants,
  scope_type text not null check (scope_type in ('account', 'tenant', 'domain', 'sender', 'credential', 'api_key', 'rule')),
  scope_value text not null,
  reason text,
  queue_action text not null check (queue_action in ('hold', 'reject')),
  source text not null check (source in ('api', 'guardian', 'operator')),
  rule_id uuid,
  evidence jsonb,
  status text not null default 'active' check (status in ('active', 'resumed')),
  created_by text,
  created_at timestamptz not null,
  resumed_at timestamptz,
  resumed_by text,
  resume_note text,
  resume_action text check (resume_action in ('release', 'purge'))
);
-- One active pause per scope; also what a process loads at start.
create unique index suspensions_active on suspensions (account_id, scope_type, scope_value) where status = 'active';
create index suspensions_by_account on suspensions (account_id, id desc);

-- The journal. Ids follow commit order (every append holds one lock until its commit), partitions follow ids, so that
-- old history leaves by dropping a table. No foreign keys: what happened stays true when its subject is gone.
create sequence events_id_seq as bigint;
create table events (
  id bigint not null default nextval('events_id_seq') primary key,
  account_id uuid not null,
  tenant_id uuid,
  message_id uuid,
  recipient text,
  type text not null,
  created_at timestamptz not null,
  data jsonb not null
) partition by range (id);
create index events_by_account on events (account_id, id);
create index events_by_tenant on events (tenant_id, id) where tenant_id is not null;
create index events_by_message on events (message_id, id) where message_id is not null;
-- What happened to the recipient of a message is found through the message: an index over every recipient halved the rate
-- of appends (15,000/s with it, 36,000/s without, in one hour on two cores).
create index events_by_recipient on events (account_id, recipient, id) where recipient is not null and message_id is null;
-- The common types are found through events_by_account at once; looking for a rare one must not read past them all.
create index events_by_rare_type on events (account_id, type, id) where type not in ('accepted', 'delivered');

-- Attaching takes a weaker lock than "create table … partition of": writers go on.
create function create_event_partitions(ahead integer) returns integer language plpgsql as $$
declare
  size constant bigint := 5000000;
  current bigint := (select last_value from events_id_seq) / size;
  made integer := 0;
begin
  -- Two processes may ask at the same moment.
  perform pg_advisory_xact_lock(hashtext('create_event_partitions'));
  for part in current .. current + ahead loop
    if to_regclass('events_' || part) is null then
      execute format('create table events_%s (like events including defaults including constraints)', part);
      execute format('alter table events attach partition events_%s for values from (%s) to (%s)',
        part, part * size, (part + 1) * size);
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
select create_event_partitions(2);

-- One row: proves that every process has the SECRET_KEY that this database was set up with.
create table installation (
  id integer primary key check (id = 1),
  secret_check text not null,
  created_at timestamptz not null
);

-- How far each reader of the journal has come.
create table tails (
  name text primary key,
  cursor bigint not null,
  updated_at timestamptz not null
);

-- The audit log: entries, the hash chain that seals them, and signed heads of the chain. Entry ids have no gaps.
create table audit_entries (
  id bigint primary key,
  account_id uuid,
  tenant_id uuid,
  actor_type text not null,
  actor_id text,
  actor_name text not null,
  ip text,
  action text not null,
  target_type text not null,
  target_id text not null,
  -- `json`, not `jsonb`: the text that was hashed is the text that is kept.
  before json,
  after json,
  request_id text,
  created_at timestamptz not null,
  -- HMAC by the process that wrote the entry: a row slipped in by hand has none that fits.
  mac bytea not null
);
create index audit_entries_by_account on audit_entries (account_id, id);
create index audit_entries_by_action on audit_entries (account_id, action, id);

create table audit_seals (
  entry_id bigint primary key,
  prev_hash bytea not null,
  hash bytea not null,
  -- HMAC over the hash: re-hashing the whole chain needs the installation's secret.
  mac bytea not null
);

create table audit_heads (
  entry_id bigint primary key,
  hash bytea not null,
  signature bytea not null,
  signed_at timestamptz not null
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger audit_entries_append_only before update or delete or truncate on audit_entries
  for each statement execute function refuse_change();
create trigger audit_seals_append_only before update or delete or truncate on audit_seals
  for each statement execute function refuse_change();
create trigger audit_heads_append_only before update or delete or truncate on audit_heads
  for each statement execute function refuse_change();
