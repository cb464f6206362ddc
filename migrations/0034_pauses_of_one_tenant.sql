-- Several tenants of an account may send from one domain, or with one key of the account. What the guardian finds in the mail
-- of one of them stops the mail of that one.
alter table suspensions
  -- Of the scope, only the mail of the tenant.
  add column only_tenant boolean not null default false,
  add constraint suspensions_only_tenant_check check (not only_tenant or tenant_id is not null);

drop index suspensions_active;
-- One active pause per scope, or per scope and tenant where it stops one tenant alone. The operator's stands beside the
-- account's own: either may end without the other.
create unique index suspensions_active on suspensions (account_id, scope_type, scope_value, (source = 'operator'),
  coalesce(case when only_tenant then tenant_id end, '00000000-0000-0000-0000-000000000000')) where status = 'active';
