-- Ids of many events, for a transaction that appends them without keeping the journal locked meanwhile. Until its end the
-- transaction holds an advisory lock whose key is the first of the ids: readers that follow commit order go no further
-- (src/platform/journal/read.ts). The journal is locked by the session, because only such a lock can be released before the
-- transaction ends.
create function reserve_event_ids(journal bigint, reserved bigint, wanted integer) returns bigint language plpgsql as $$
declare
  first bigint;
begin
  perform pg_advisory_lock(journal);
  begin
    first := nextval('events_id_seq');
    perform setval('events_id_seq', first + wanted - 1);
    perform pg_advisory_xact_lock(reserved + first);
  exception when query_canceled or others then
    perform pg_advisory_unlock(journal);
    raise;
  end;
  perform pg_advisory_unlock(journal);
  return first;
end $$;
