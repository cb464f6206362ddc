-- Temporary, until the table of alerts comes with the guardian: enough of it to count those that nobody has seen.
create table alerts (
  id uuid primary key,
  account_id uuid not null,
  tenant_id uuid,
  acked_at timestamptz
);
