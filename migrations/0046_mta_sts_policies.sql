-- What domains demand of senders for as long as they said (MTA-STS, RFC 8461). Kept here, so that a tampered DNS cannot take it
-- back from a process that has just begun. Only policies that are enforced.
create table mta_sts_policies (
  domain text primary key,
  policy_id text not null,
  -- Names of mail hosts; `*.` stands for one label.
  mx text[] not null,
  max_age_seconds integer not null,
  until timestamptz not null
);
-- For those that have lapsed.
create index mta_sts_policies_until on mta_sts_policies (until);
