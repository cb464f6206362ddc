-- When the provider said the price that the plan is known by: the time of the event. Null: no event has told a price yet, and
-- the plan, if any, is the one that was bought. Events that tell none must not move the plan back, nor hide an older price.
alter table payment_subscriptions add column priced_at timestamptz;
update payment_subscriptions set priced_at = state_at where plan_id is not null;

-- The guardian asks every ten seconds what was counted since, and the clean-up what is old.
create index metric_activity_by_time on metric_activity (counted_at);

-- For rules about the logins of a tenant, which read the newest of them.
create index credential_addresses_by_tenant on credential_addresses (tenant_id, minute);

-- A claim goes from contact to contact and reads one waiting notification of each: one that has thousands costs no more.
create index alert_notifications_waiting on alert_notifications (contact_id, due_at, id) where status = 'pending';
-- Contacts that are being told: one for each slot of a worker.
create index alert_notifications_leased on alert_notifications (contact_id, lease_until) where lease_until is not null;
