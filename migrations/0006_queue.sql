-- The queue is found by the way it is read: account, tenant, message, recipient. One index less to write, three times in
-- the life of every recipient: moving a long queue costs a fifth less.
alter table queue drop constraint queue_pkey;
drop index queue_by_account;
alter table queue add primary key (account_id, tenant_id, message_id, n);

-- Mail that was never tried can have a due time as well: its destination is slower than what is sent to it.
drop index queue_queued;
create index queue_next on queue (rank) where status = 'queued' and due_at is null;
drop index queue_deferred;
create index queue_due on queue (due_at) where status in ('queued', 'deferred') and due_at is not null;

-- Resumed while a broader pause stands: all that it held is the other one's from that moment, and moved behind the answer.
alter table suspensions add column moved_to uuid references suspensions;
create index suspensions_moving on suspensions (moved_to) where moved_to is not null and drained_at is null;
