-- Tables are called what they are called in the code.
alter table webhook_lanes rename to webhook_due;
alter table webhook_due rename constraint webhook_lanes_webhook_id_fkey to webhook_due_webhook_id_fkey;
alter index webhook_lanes_pkey rename to webhook_due_pkey;
alter index webhook_lanes_due rename to webhook_due_by_time;
alter table webhook_leavings rename to webhook_removals;
alter index webhook_leavings_pkey rename to webhook_removals_pkey;
alter table stream_places rename to stream_slots;
alter index stream_places_pkey rename to stream_slots_pkey;

-- Nobody reads them.
alter table tails drop column updated_at;
alter table mail_sources drop column created_at;
alter table payment_events drop column type;
alter table installation drop column created_at;
alter table tenant_throttles drop column created_at;
alter table guardian_states drop column since;

-- As in every table of leased work: while a row is leased, due_at is the end of its lease.
update alert_notifications set due_at = lease_until where lease_until is not null and status = 'pending';
drop index alert_notifications_leased;
alter table alert_notifications drop column lease_until;
-- Contacts that are being told: one for each slot of a worker.
create index alert_notifications_leased on alert_notifications (contact_id, due_at) where lease_token is not null;
