-- Dropping what retention has emptied. The lock of the parent stops everybody for a moment, so it is asked for briefly: where
-- others are at work, the next round tries again. Asked once more under the lock whether it is empty.
create function drop_partition_if_empty(parent text, part text) returns boolean language plpgsql as $$
declare
  is_empty boolean;
begin
  execute format('select not exists (select from %I)', part) into is_empty;
  if not is_empty then return false; end if;
  perform set_config('lock_timeout', '250ms', true);
  execute format('lock table only %I in access exclusive mode', parent);
  execute format('lock table %I in access exclusive mode', part);
  execute format('select not exists (select from %I)', part) into is_empty;
  if is_empty then execute format('drop table %I', part); end if;
  return is_empty;
exception when lock_not_available or undefined_table or deadlock_detected then
  -- Others are at work, or another process was first.
  return false;
end $$;
