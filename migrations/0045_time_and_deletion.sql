-- The cursor of every tail from the beginning, at nothing read: retention keeps events that a tail has not read, also when no
-- worker has run yet.
insert into tails (name, cursor)
values ('alerts', 0), ('mailbox-deliveries', 0), ('metrics', 0), ('webhook-fan-out', 0)
on conflict do nothing;

-- On how many days tries failed since the last success, each at least a day after the one before, and when the last of them was
-- counted. The time since the first failure alone would blame an endpoint for days on which nobody called it.
alter table webhooks add column failed_days smallint not null default 0;
alter table webhooks add column failed_day_at timestamp with time zone;

-- Weeks are counted without a zone: seven days are 167 hours where the session's zone begins its summer time. What a session with
-- such a zone made before overlaps the next week, whose mail then lies there or in the default partition.
create or replace function create_message_partitions(now timestamptz, weeks_ahead integer)
returns integer language plpgsql as $$
declare
  -- In UTC.
  monday timestamp;
  name text;
  parent text;
  -- Bodies of up to 8 kB stay in the row; a delivery is written a second time, in its page.
  settings constant jsonb := '{"messages": "fillfactor = 100", "message_bodies": "toast_tuple_target = 8160",
    "deliveries": "fillfactor = 80"}';
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('create_message_partitions'));
  for week in 0 .. weeks_ahead loop
    monday := date_trunc('week', now at time zone 'utc') + week * interval '7 days';
    foreach parent in array array['messages', 'message_bodies', 'deliveries'] loop
      name := parent || '_' || to_char(monday, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      begin
        execute format('create table %I (like %I including defaults including constraints including storage) with (%s)',
          name, parent, settings ->> parent);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
          uuid_at(monday at time zone 'utc'), uuid_at((monday + interval '7 days') at time zone 'utc'));
        made := made + 1;
      exception when check_violation or invalid_object_definition then
        -- The default partition holds rows of that week already, and they stay there, as does the rest of the week; or another
        -- partition overlaps the week.
        null;
      end;
    end loop;
  end loop;
  return made;
end $$;
