-- Whom each inbox has written to, by organisation: a sender whose domain is one slip away from one of these pretends to be it.
create table correspondents (
  inbox_id uuid not null references inboxes (id) on delete cascade,
  -- The name below the public suffix, in lower case.
  domain text not null,
  first_sent_at timestamptz not null,
  primary key (inbox_id, domain)
);
