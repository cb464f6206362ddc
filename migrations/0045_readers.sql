-- The cursor of every tail from the beginning, at nothing read: retention keeps events that a tail has not read, also when no
-- worker has run yet.
insert into tails (name, cursor)
values ('alerts', 0), ('mailbox-deliveries', 0), ('metrics', 0), ('webhook-fan-out', 0)
on conflict do nothing;
