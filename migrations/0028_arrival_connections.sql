-- How many connections each process has from an address, while they are many. Not logged, and old rows count no more: a process
-- that died is forgotten within seconds.
create unlogged table arrival_connections (
  process_id uuid not null,
  network text not null,
  count integer not null,
  told_at timestamptz not null,
  primary key (network, process_id)
);
