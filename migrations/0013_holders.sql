-- Processes that hold leases on the queue. A lease that lapsed says only that nobody renewed it; whether its holder is gone
-- is said here, so that a process that lives through an outage of the database is not taken for one that crashed.
create table holders (
  id uuid primary key,
  beat_at timestamptz not null,
  -- Since when its heartbeats have come without a gap: only a process that could reach the database all the time knows that
  -- another one could have.
  steady_since timestamptz not null,
  -- It ended in order: what it left behind is no crash.
  left_at timestamptz
);

alter table queue
  add column holder_id uuid,
  -- A worker died while it held this. Whether it was working on it nobody knows, so from now on that is written down.
  add column is_suspect boolean not null default false,
  -- Of suspects only: being prepared, or inside a transaction with the receiver.
  add column is_begun boolean not null default false,
  -- What mail that was set aside is called by callers.
  add column set_aside_id uuid;

-- Time-ordered, as new ones are: lists are paged by it.
update queue set set_aside_id = (substr(uuid_at(held_at)::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid
where status = 'held' and suspension_id is null;
-- Few rows: it is empty but for what was set aside.
create unique index queue_set_aside on queue (account_id, set_aside_id) where set_aside_id is not null;
