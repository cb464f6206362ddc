-- The cursor of every tail from the beginning, at nothing read: retention keeps events that a tail has not read, also when no
-- worker has run yet.
insert into tails (name, cursor)
values ('alerts', 0), ('mailbox-deliveries', 0), ('metrics', 0), ('webhook-fan-out', 0)
on conflict do nothing;

-- On how many days tries failed since the last success, each at least a day after the one before, and when the last of them was
-- counted. The time since the first failure alone would blame an endpoint for days on which nobody called it.
alter table webhooks add column failed_days smallint not null default 0;
alter table webhooks add column failed_day_at timestamp with time zone;
