-- Streams of inboxes.

-- The slots of a key, numbered: a row whose lease has not lapsed is an open stream. A process that dies gives
-- its slots back when their leases lapse. Renewed every few seconds, so pages keep room for the new version of a row.
create table stream_places (
  key_id uuid not null,
  n smallint not null,
  lease_token uuid not null,
  lease_until timestamptz not null,
  primary key (key_id, n)
) with (fillfactor = 50);

-- Up to which id events of an inbox were deleted for their age. A stream that is resumed from an older id cannot tell what
-- it missed, and says so. Inboxes that lost none have no row.
create table event_floors (
  inbox_id uuid primary key,
  id bigint not null
);
