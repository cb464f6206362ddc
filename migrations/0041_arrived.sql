-- Set in the transaction that stores a mail for an inbox of this installation. A process that dies before it has recorded
-- the delivery leaves it to another, for which the mail has arrived.
alter table queue add column has_arrived boolean not null default false;
