-- When the provider said the price that the plan is known by: the time of the event. Null: no event has told a price yet, and
-- the plan, if any, is the one that was bought. Events that tell none must not move the plan back, nor hide an older price.
alter table payment_subscriptions add column priced_at timestamptz;
update payment_subscriptions set priced_at = state_at where plan_id is not null;

-- The guardian asks every ten seconds what was counted since, and the clean-up what is old.
create index metric_activity_by_time on metric_activity (counted_at);

-- For rules about the logins of a tenant, which read the newest of them.
create index credential_addresses_by_tenant on credential_addresses (tenant_id, minute);
