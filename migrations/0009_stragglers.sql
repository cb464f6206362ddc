-- What a pause matched and could not hold, because it was being sent: it is held when it comes back to the queue.
create table suspension_stragglers (
  suspension_id uuid not null references suspensions on delete cascade,
  account_id uuid not null,
  tenant_id uuid not null,
  message_id uuid not null,
  n integer not null,
  primary key (suspension_id, message_id, n)
);
